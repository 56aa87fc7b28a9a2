// Runs the trace processor of Perfetto's user interface, which is WebAssembly for a web worker, in Node:
//
//   node trace_processor.js DIRECTORY < requests > replies
//
// DIRECTORY has engine_bundle.js and the .wasm files. Both streams are a TraceProcessorRpcStream.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const directory = process.argv[2];

class FileRequest {
  open(method, url) {
    this.url = url;
  }
  send() {
    this.response = fs.readFileSync(path.join(directory, path.basename(this.url)));
  }
}

// What the bundle uses of a worker's global scope; all else comes with the context.
const scope = vm.createContext({
  console: { log: console.error, warn: console.error, error: console.error },
  location: { href: "" },
  performance,
  setTimeout,
  TextDecoder,
  TextEncoder,
  URL,
  WorkerGlobalScope: Object,
  XMLHttpRequest: FileRequest,
});
scope.self = scope;
const port = { postMessage: (reply) => fs.writeSync(1, reply) };
vm.runInContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), scope);
scope.onmessage({ data: port });
const Bytes = vm.runInContext("Uint8Array", scope);
// When the bundle has had its turn.
setTimeout(() => port.onmessage({ data: new Bytes(fs.readFileSync(0)) }), 0);
