// SPDX-License-Identifier: Apache-2.0
//
// Perfetto's trace processor, as WebAssembly, for a parent process that talks to it in frames: four
// bytes of length (little endian), then a TraceProcessorRpcStream; answers come out the same way.
//
//   node perfetto_engine.js FOLDER      FOLDER has engine_bundle.js and trace_processor.wasm

'use strict';
const fs = require('fs');
const path = require('path');

const folder = process.argv[2];
const parent = process;

function fail(error) {
  parent.stderr.write('perfetto_engine: ' + (error && error.stack || error) + '\n');
  parent.exit(1);
}
parent.on('uncaughtException', fail);
parent.on('unhandledRejection', fail);

function load(url) {
  const name = path.basename(new URL(String(url), 'http://engine/').pathname);
  return fs.readFileSync(path.join(folder, name));
}

// The bundle is made for a web worker: it asks for its WebAssembly in one piece and waits.
class Request {
  open(method, url) {
    this.url = url;
  }
  send() {
    this.response = new Uint8Array(load(this.url)).buffer;
    this.status = 200;
  }
}

function writeAll(bytes) {
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function answer(data) {
  const frame = Buffer.alloc(4 + data.byteLength);
  frame.writeUInt32LE(data.byteLength, 0);
  Buffer.from(data.buffer, data.byteOffset, data.byteLength).copy(frame, 4);
  writeAll(frame);
}

function startEngine() {
  const toStderr = (...words) => parent.stderr.write(words.join(' ') + '\n');
  const worker = {
    location: {href: 'http://engine/engine_bundle.js', origin: 'http://engine'},
    XMLHttpRequest: Request,
    console: {log: toStderr, info: toStderr, warn: toStderr, error: toStderr, debug: toStderr},
    WorkerGlobalScope: class {},
    importScripts: () => {},
    fetch: async (url) => new Response(load(url), {headers: {'Content-Type': 'application/wasm'}}),
  };
  worker.self = worker;
  // What would tell it that this is Node, or a page.
  for (const name of ['process', 'require', 'module', 'exports', 'window', 'document'])
    worker[name] = undefined;
  const names = Object.keys(worker);
  const bundle = fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8');
  new Function(...names, bundle)(...names.map((name) => worker[name]));
  const port = {onmessage: null, postMessage: answer, start() {}, close() {}};
  worker.onmessage({data: port});
  return port;
}

const port = startEngine();
let pending = [];
let bytes = 0;

// Whole frames, as soon as the engine listens.
function deliver() {
  if (port.onmessage === null) return setTimeout(deliver, 5);
  let all = pending.length === 1 ? pending[0] : Buffer.concat(pending, bytes);
  while (all.length >= 4 && all.length - 4 >= all.readUInt32LE(0)) {
    const end = 4 + all.readUInt32LE(0);
    port.onmessage({data: new Uint8Array(all.subarray(4, end))});
    all = all.subarray(end);
  }
  pending = [all];
  bytes = all.length;
  return undefined;
}

parent.stdin.on('data', (piece) => {
  pending.push(piece);
  bytes += piece.length;
  const first = pending[0].length >= 4 ? pending[0] : Buffer.concat(pending, bytes);
  if (first.length >= 4 && bytes >= 4 + first.readUInt32LE(0)) deliver();
});
parent.stdin.on('end', () => parent.exit(0));
