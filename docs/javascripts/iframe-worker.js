// Browsers start no worker on a page that was opened from a folder. There, a frame does the work of the search.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { hidden: true }))
      this.inside = frame.contentWindow
      this.inside.IFrameWorker = window.Worker
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside.importScripts = (...urls) => urls.reduce((before, next) => before.then(() => this.load(next)), Promise.resolve())
      this.ready = this.load(url)
    }

    load(url) {
      const script = this.inside.document.createElement("script")
      const loaded = new Promise((resolve, reject) => Object.assign(script, { onload: resolve, onerror: reject }))
      script.src = url
      this.inside.document.body.append(script)
      return loaded
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
