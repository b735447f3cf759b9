// The client's files over ACP: only what the client can, asked for as the protocol has it.
import type { AgentContext } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { acpSchemaValidator } from "../testing/index.js";
import { clientFiles } from "./ports.js";

const NEVER = new AbortController().signal;

function files(can: Parameters<typeof clientFiles>[2], answer: () => unknown = () => ({ content: "words" })) {
  const sent: { method: string; params: object; signal: unknown }[] = [];
  const client = {
    request: async (method: string, params: object, options?: { cancellationSignal?: AbortSignal }) => {
      sent.push({ method, params, signal: options?.cancellationSignal });
      return answer();
    },
  };
  return { files: clientFiles(asClient(client), "s-1", can), sent };
}

/** Files need one method of it. */
function asClient(client: object): AgentContext {
  const isClient = (value: object): value is AgentContext => "request" in value;
  if (!isClient(client)) throw new Error("no client");
  return client;
}

test("a part the client lacks is not there", () => {
  const { files: none } = files({ readTextFile: false, writeTextFile: false });
  expect(none).toEqual({});
  expect(Object.keys(files({ readTextFile: true, writeTextFile: false }).files)).toEqual(["readText"]);
  expect(Object.keys(files({ readTextFile: false, writeTextFile: true }).files)).toEqual(["writeText"]);
});

test("what is asked for fits the protocol, and an end of the call is told to the client", async () => {
  const validate = await acpSchemaValidator();
  const { files: both, sent } = files({ readTextFile: true, writeTextFile: true });
  expect(await both.readText?.("/p/a", {}, NEVER)).toBe("words");
  expect(await both.readText?.("/p/a", { line: 3, limit: 2 }, NEVER)).toBe("words");
  await both.writeText?.("/p/a", "new", NEVER);
  expect(sent.map(({ method, params }) => [method, params])).toEqual([
    ["fs/read_text_file", { sessionId: "s-1", path: "/p/a" }],
    ["fs/read_text_file", { sessionId: "s-1", path: "/p/a", line: 3, limit: 2 }],
    ["fs/write_text_file", { sessionId: "s-1", path: "/p/a", content: "new" }],
  ]);
  for (const { method, params, signal } of sent) {
    expect(validate({ kind: "request", method, payload: { ...params } })).toBeUndefined();
    expect(signal).toBe(NEVER);
  }
});

test("a client that refuses rejects with its own words", async () => {
  const { files: both } = files({ readTextFile: true, writeTextFile: true }, () => {
    throw new Error("not open");
  });
  await expect(both.readText?.("/p/a", {}, NEVER)).rejects.toThrow("not open");
  await expect(both.writeText?.("/p/a", "x", NEVER)).rejects.toThrow("not open");
});
