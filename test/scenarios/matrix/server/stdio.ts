// The bad server over stdio.
import { closeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { JsonObject } from "../../../../src/base/json/json.js";
import { type Id, type Lab, pause, progressOf, response, type Strike, textResult } from "./lab.js";
import { ACTS } from "./mischief.js";
import { lineOut } from "./out.js";
import { idOf, initializeResult, paramsOf, tokenOf } from "./requests.js";

export function serveStdio(lab: Lab): void {
  const out = lineOut();
  const running = new Map<Id, AbortController>();

  async function strike(phase: Strike["phase"], id?: Id, token?: Id): Promise<void> {
    const controller = new AbortController();
    if (id !== undefined) running.set(id, controller);
    const { mischief } = lab.settings;
    if (mischief === "crash") process.exit(7);
    if (mischief === "reset") {
      await pause(20); // what was written is still on its way
      closeSync(1); // the pipe is closed, the process stays
      return;
    }
    await ACTS[mischief]?.({ phase, out, id, token, gone: controller.signal }, lab);
    lab.record("struck");
  }

  async function call(id: Id, params: JsonObject): Promise<void> {
    switch (params["name"]) {
      case "slow":
        await pause(200);
        return await out.message(response(id, textResult("slow")));
      case "arm":
        await out.message(response(id, textResult("armed")));
        await pause(30);
        return await strike("idle");
      case "strike":
        lab.record("asked");
        return await strike("call", id, tokenOf(params));
      case "stream":
        lab.record("asked");
        for (const progress of [1, 2, 3]) {
          await out.message(progressOf(tokenOf(params), progress));
          await pause(10);
        }
        return await strike("stream", id, tokenOf(params));
      default:
        return await out.message(response(id, textResult("pong")));
    }
  }

  async function receive(message: JsonObject): Promise<void> {
    const id = idOf(message);
    const params = paramsOf(message);
    if (message["method"] === "notifications/cancelled")
      running.get(idOf({ id: params["requestId"] ?? null }) ?? "")?.abort();
    if (id === undefined || typeof message["method"] !== "string") return;
    switch (message["method"]) {
      case "initialize":
        return await out.message(response(id, initializeResult(params)));
      case "tools/list":
        return await out.message(response(id, lab.page(params["cursor"])));
      case "tools/call":
        return await call(id, params);
      case "ping":
        return await out.message(response(id, {}));
      default:
        return await out.message({ jsonrpc: "2.0", id, error: { code: -32_601, message: "no such method" } });
    }
  }

  process.stdout.on("error", () => process.exit(0));
  process.stderr.on("error", () => {});
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    receive(JSON.parse(line)).catch((error: unknown) => {
      process.stderr.write(`bad server: ${String(error)}\n`);
    });
  });
  lines.on("close", () => process.exit(0));
}
