// SPDX-License-Identifier: Apache-2.0
// A page from disk may neither fetch the search index nor start a worker. There the index is a
// script, and a frame of the page does the worker's part.
var __search;

class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.waiting = [];
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.appendChild(frame);
    this.inside = frame.contentWindow;
    this.inside.IFrameWorker = FrameWorker;
    this.inside.postMessage = data =>
      setTimeout(() => this.dispatchEvent(new MessageEvent("message", {data})));
    const script = frame.contentDocument.createElement("script");
    script.src = new URL(url, location);
    script.onload = () => {
      const early = this.waiting;
      this.waiting = null;
      early.forEach(data => this.postMessage(data));
    };
    frame.contentDocument.body.appendChild(script);
  }

  postMessage(data) {
    if (this.waiting) this.waiting.push(data);
    else this.inside.dispatchEvent(new MessageEvent("message", {data}));
  }
}

function foretrainFromDisk(index) {
  if (location.protocol !== "file:") return;
  window.Worker = FrameWorker;
  document.write(`<script src="${index}"><\/script>`);
}
