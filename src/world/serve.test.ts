// Servers at an address and at a socket: bounds of heads, time and connections, and nothing left afterwards.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ServeHandlers, ServeOptions, ServeRefusal } from "../base/ports/world.js";
import { serve } from "./serve.js";

const OPTIONS: ServeOptions = {
  place: { host: "127.0.0.1", port: 0 },
  maxHeadBytes: 4_096,
  headMs: 300,
  requestMs: 1_000,
  maxConnections: 8,
};

function handlers(): ServeHandlers & { readonly refused: ServeRefusal[] } {
  const refused: ServeRefusal[] = [];
  return {
    refused,
    onRequest: (_request, response) => response.end("hello"),
    onUpgrade: (_request, socket) => socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\nraw"),
    onRefused: (reason) => refused.push(reason),
  };
}

async function answerTo(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  let all = "";
  for await (const chunk of socket) all += String(chunk);
  return all;
}

async function dial(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

describe("serving", () => {
  it("answers requests and upgrades at an address, and says who has a port that is taken", async () => {
    await using place = await serve(OPTIONS, handlers());
    expect(place.address).toBe(`127.0.0.1:${place.port}`);
    expect(await (await fetch(`http://${place.address}/`)).text()).toBe("hello");
    const upgraded = await answerTo(
      await dial(place.port),
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    expect(upgraded).toContain("raw");
    const again = serve({ ...OPTIONS, place: { host: "127.0.0.1", port: place.port } }, handlers());
    await expect(again).rejects.toThrow(process.platform === "linux" ? `process ${process.pid}` : "EADDRINUSE");
  });

  it("answers at a socket that only its user may open, and removes it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tenon-serve-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, "s.sock");
    const place = await serve({ ...OPTIONS, place: { path } }, handlers());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const status = await new Promise((resolve) => {
      httpRequest({ socketPath: path, path: "/" }, (response) => resolve(response.resume().statusCode)).end();
    });
    expect([place.address, status]).toEqual([path, 200]);
    await place[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it("ends heads that are too long, too slow or no HTTP, and connections above the bound", async () => {
    const heard = handlers();
    await using place = await serve({ ...OPTIONS, maxConnections: 1 }, heard);
    const long = `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(5_000)}\r\n\r\n`;
    expect(await answerTo(await dial(place.port), long)).toContain("431");
    expect(await answerTo(await dial(place.port), "\u0001nonsense\r\n\r\n")).toContain("400");
    const slow = await dial(place.port);
    const slowAnswer = answerTo(slow, "GET / HTTP/1.1\r\nHost:");
    const second = await dial(place.port);
    await new Promise((resolve) => second.once("close", resolve));
    expect(await slowAnswer).toContain("408");
    expect(heard.refused).toEqual(["head_too_large", "malformed", "too_many", "too_slow"]);
  });

  it("ends a body that takes too long", async () => {
    const heard = handlers();
    await using place = await serve(
      { ...OPTIONS, requestMs: 400 },
      { ...heard, onRequest: (request, response) => request.on("end", () => response.end()).resume() },
    );
    const head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsome";
    expect(await answerTo(await dial(place.port), head)).toContain("408");
    expect(heard.refused).toEqual(["too_slow"]);
  });

  it("closes though an upgraded connection is held open", async () => {
    const place = await serve(OPTIONS, { ...handlers(), onUpgrade: () => {} });
    const socket = await dial(place.port);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    const ended = new Promise((resolve) => socket.once("close", resolve));
    await place[Symbol.asyncDispose]();
    await expect(ended).resolves.toBeDefined();
  });
});
