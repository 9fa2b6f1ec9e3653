# SPDX-License-Identifier: Apache-2.0
"""A session of torch.profiler, whose clock stays in CUPTI; some seconds later what `driver_app.py events` does.

usage: events_after_session.py N"""

import argparse
import json
import sys
import time

import driver_app
import torch
from torch.profiler import ProfilerActivity, profile

REST_S = 3  # by then whoever recorded before the session does so again


def main():
    value = torch.zeros(8, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
        for _ in range(100):
            value.add_(1)
        torch.cuda.synchronize()
    time.sleep(REST_S)
    driver = driver_app.Driver()
    print(json.dumps(driver_app.events(driver, argparse.Namespace(steps=int(sys.argv[1])))), flush=True)


if __name__ == "__main__":
    main()
