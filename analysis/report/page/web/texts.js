// SPDX-License-Identifier: Apache-2.0
//
// The sentences of the page, by script: what a reader sees or hears, apart from labels of a word or two. Sentences
// about the data come with them (analysis/messages/page.hpp, page_views.hpp, diff_page.hpp, diff_findings.hpp).
//
// Promises: plain texts, whole sentences; what varies is an argument, a number of things among them
'use strict';
(() => {
  const counted = (n, one, many) => `${n} ${n === 1 ? one : many}`;
  const rows = (n) => counted(n, 'row', 'rows');
  const steps = (n) => counted(n, 'step', 'steps');

  page.texts = {
    core: {
      cut: (shown, length) => `${shown}… (${length} characters)`,
    },
    load: {
      cannot_unpack: 'this browser cannot decompress the data; use a browser from 2023 or later',
      no_data: 'it contains no data; the file was truncated or changed',
      other_schema: (schema) => `its data have schema ${schema}; expected 1`,
    },
    main: {
      cannot_show: (why) => `Cannot show this page: ${why}`,
      showing: (process) => `Showing ${process}`,
      made: (version, source) => `Created by gpuprof ${version} from ${source}. This page loads nothing from the network. Charts by D3.`,
    },
    table: {
      sorted: (title, down) => `Sorted by ${title}, ${down ? 'largest' : 'smallest'} first`,
      filter: (title) => `Filter ${title}`,
      only: (mark) => `${mark.toLowerCase()} only`,
      only_in: (title, mark) => `${title}: ${mark.toLowerCase()} only`,
      full_names: 'full names',
      show_more: (n, left) => (n === left ? `Show ${n} more ${n === 1 ? 'row' : 'rows'}` : `Show ${n} of ${left} more rows`),
      count: (n, all) => (n === all ? rows(n) : `${n} of ${rows(all)}`),
      left_out: (n) => (n === 1 ? '1 smaller row is not in this page.' : `${n.toLocaleString('en-US')} smaller rows are not in this page.`),
      nothing: 'Nothing recorded',
    },
    chart: {
      as_table: 'Figures as a table',
      step_time: (mean, longest, n) => `Step time: mean ${mean}, longest ${longest}, ${steps(n)}`,
      longest_line: 'The line shows the longest step of each point.',
      memory: (title, allocated, reserved) => `${title}: peak ${allocated} allocated, ${reserved} reserved`,
      time_axis: 'time since the start of the recording',
      reserved: 'reserved by the allocator (dashed)',
    },
    wall: {
      note: 'All of the recorded time. Below each part: the lines that took most of it; below the steps: what took longer than usual in some of them.',
    },
    overview: {
      no_gpu_tile: 'no GPU work recorded',
      gpus_in_use: 'GPU in use, mean of all GPUs',
      no_advice: 'No advice: no rule applies to this recording.',
      nothing_to_divide: 'The recording contains no step and no event.',
      parts_of_recording: 'Parts of the recording, because no steps were found. Where parts overlap, the time counts for the first of them.',
      parts_of_step: (kept, warm_up) => `Parts of a step: mean of ${steps(kept)}${warm_up ? `, without ${counted(warm_up, 'warm-up step', 'warm-up steps')}` : ''}. ` +
        'Where parts overlap, the time counts for the first of them.',
      no_gpu: 'No GPU work was recorded in this process.',
      no_steps: 'No steps were found, so there is no curve. docs/steps.md of gpuprof describes how steps are detected.',
      mean_of: (n) => `Each point is the mean of ${steps(n)}.`,
      steps_are: 'Steps are iterations at ',
      simulated: 'Recorded on a simulated GPU: all times of that GPU are invented.',
    },
    tables: {
      no_operators: 'No operators and no ranges: the program ran no PyTorch operator and pushed no NVTX range during the recording.',
      no_gpu: 'No GPU work was recorded in this process. The last tab lists what is missing and why.',
      one_process: 'Only one process was recorded, so there are no ranks to compare.',
      mean_steps: 'Mean step of each process',
      no_collectives: 'No collective was recorded in any process.',
      nothing_known: 'Nothing was recorded.',
      missing: 'Missing from the recording',
      none_missing: 'No data are known to be missing.',
      left_out: 'Not in this page',
      none_left_out: 'Nothing was left out: the page contains all rows of the report.',
      notices: 'Notices during the recording',
      none_lost: 'No records were lost.',
      missing_view: 'What is missing and why',
    },
    flame: {
      figures: (total, share, self) => `${total}, ${share}; self ${self}`,
      label: (title) => `Flame graph, ${title}`,
      found: (n, share) => `${counted(n, 'frame', 'frames')}, ${share} of the total`,
      keys: 'Keys: arrow keys move between frames, Enter makes a frame as wide as the picture, Escape shows all.',
      nothing: 'No stack was sampled, and no GPU work was recorded.',
    },
    timeline: {
      select: 'Select an event to see its details.',
      launched: (name, later) => `${name}, started ${later} later`,
      launched_by: (name, earlier) => `${name}, ${earlier} earlier`,
      in_view: 'Events in view, by name',
      in_view_note: 'Events that overlap the time in view, by name. The time of an operator includes what runs inside it.',
      place: (at, all) => `${at} of ${all}`,
      found: (n) => `${n} found`,
      all_arrows: 'all arrows from launches to GPU work',
      label: (title, events, tracks) => `Timeline, ${title}: ${counted(events, 'event', 'events')} in ${counted(tracks, 'track', 'tracks')}`,
      help: 'Mouse: drag to pan, scroll to zoom (click the timeline first, or hold Ctrl). Keys: arrow keys pan, + and − zoom, 0 shows all, ' +
        'n and p select the next and previous event, Enter follows the arrow, f zooms to the event, Escape clears the selection.',
      nothing: 'No event with a duration was recorded.',
    },
    memory: {
      nothing: 'No allocation was recorded: the program did not use PyTorch’s allocators, or recording began too late to observe them.',
    },
    modules: {
      nothing: 'No nn.Module call was found: the program calls none, or no stacks of its operators were recorded.',
      expand: (name) => `Expand ${name}`,
      collapse: (name) => `Collapse ${name}`,
    },
    changes: {
      why: 'Why this is not noise',
      why_unconfirmed: 'Why this is not noise between steps',
      none: 'No difference is larger than the usual noise between steps and between processes.',
      step_time: (before, after) => `Step time: before ${before}, after ${after}`,
      median: (time) => `median ${time}`,
      no_steps: 'none',
      no_curves: 'At least one recording has no steps, so there are no curves to compare.',
      dotted: 'Dotted: warm-up steps, which are not compared.',
      mean_of: (before, after) => `Each point is the mean of ${steps(before)} before and of ${steps(after)} after.`,
      above: (n) => (n === 1 ? '1 step is longer than the chart is high; the table lists it.' : `${n} steps are longer than the chart is high; the table lists them.`),
      notes: 'Notes on the recordings',
      no_notes: 'No differences in how they were recorded are known.',
      simulated: 'Both were recorded on a simulated GPU: all times of that GPU are invented.',
      no_metrics: 'No metric of a step was measured in both recordings.',
    },
    diff_tables: {
      no_operators: 'Neither recording has an operator or range in its steps.',
      no_gpu: 'Neither recording contains GPU work.',
      no_memory: 'Neither recording contains allocations.',
      limits_view: 'What cannot be compared and why',
      nothing_known: 'Nothing known.',
    },
  };
})();
