// SPDX-License-Identifier: Apache-2.0
//
// Has libtorch mapped and initialised before main.
extern "C" int train_main(int argc, char** argv);

int main(int argc, char** argv) { return train_main(argc, argv); }
