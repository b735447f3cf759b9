// What a browser gets at the loopback address, and that nothing of the listener is left.
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { listen } from "./node.js";

const page = { status: 200, headers: { "content-type": "text/plain" }, body: "welcome back" };

describe("listening at the loopback address", () => {
  it("answers, says who was asked for, and is gone afterwards", async () => {
    const seen: unknown[] = [];
    const listener = await listen(0, (request) => {
      seen.push(request);
      return page;
    });
    const origin = `http://127.0.0.1:${listener.port}`;
    const response = await fetch(`${origin}/callback?code=1`);
    expect([response.status, await response.text()]).toEqual([200, "welcome back"]);
    expect(seen).toEqual([{ method: "GET", target: "/callback?code=1", host: `127.0.0.1:${listener.port}` }]);
    await listener[Symbol.asyncDispose]();
    await listener[Symbol.asyncDispose]();
    await expect(fetch(origin)).rejects.toThrow("fetch failed");
  });

  it("refuses a port that is taken", async () => {
    await using first = await listen(0, () => page);
    await expect(listen(first.port, () => page)).rejects.toThrow("EADDRINUSE");
  });

  it("closes though a browser holds a connection open that it never used", async () => {
    const listener = await listen(0, () => page);
    const socket = connect(listener.port, "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    const ended = new Promise((resolve) => socket.once("close", resolve));
    await listener[Symbol.asyncDispose]();
    await expect(ended).resolves.toBe(false);
  });

  it("lets the last answer out before it closes", async () => {
    const listener = await listen(0, () => page);
    const asked = fetch(`http://127.0.0.1:${listener.port}/`).then((response) => response.text());
    await new Promise((resolve) => setImmediate(resolve));
    const [text] = await Promise.all([asked, asked.then(() => listener[Symbol.asyncDispose]())]);
    expect(text).toBe("welcome back");
  });
});
