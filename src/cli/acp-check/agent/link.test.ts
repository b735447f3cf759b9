// What the raw client's end makes of good and bad output.
import { expect, test } from "vitest";
import type { JsonObject } from "../../../base/json/json.js";
import { CheckFailure } from "../failure.js";
import { AcpLink, type Serve } from "./link.js";
import type { Ending } from "./process.js";
import { loadValidator } from "./validity.js";

const validate = await loadValidator();

function link(serve: Serve = async () => undefined) {
  const written: JsonObject[] = [];
  const gone = deferred<Ending>();
  const process = {
    onLine: (_line: string) => {},
    write: (text: string) => {
      written.push(
        ...text
          .trim()
          .split("\n")
          .map((line): JsonObject => JSON.parse(line)),
      );
    },
    ended: gone.promise,
    lastWords: "",
  };
  const client = new AcpLink({ process, validate, serve });
  return { client, written, says: (message: unknown) => process.onLine(JSON.stringify(message)), process, gone };
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } };
const update = (sessionId: string, body: object = chunk) => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId, update: body },
});

test("an answer finds its request, and valid messages are no faults", async () => {
  const { client, says } = link();
  const answer = client.send("session/new", { cwd: "/", mcpServers: [] });
  says({ jsonrpc: "2.0", id: 1, result: { sessionId: "s" } });
  expect(await answer).toMatchObject({ ok: true, result: { sessionId: "s" } });
  says(update("s"));
  expect(client.updatesOf("s")).toEqual([chunk]);
  expect(client.faults).toEqual([]);
  expect(client.early).toEqual([]);
});

test("every kind of stray output is a fault", () => {
  const { client, says, process } = link();
  process.onLine("debug: hello");
  says({ id: 1, result: {} });
  says({ jsonrpc: "2.0", id: 9, result: {} });
  says({ jsonrpc: "2.0", method: "session/invented", params: {} });
  says(update("s", { sessionUpdate: "mcp_status" }));
  says(update("s", { sessionUpdate: "tool_call" }));
  expect(client.faults).toHaveLength(6);
  says({ jsonrpc: "2.0", method: "_vendor/thing", params: {} });
  expect(client.faults).toHaveLength(6);
});

test("a response with neither or both of result and error, or an error without a code, is a fault", async () => {
  const { client, says } = link();
  const answers = [1, 2].map(() => client.send("session/close", { sessionId: "s" }));
  says({ jsonrpc: "2.0", id: 1, error: { message: "no" } });
  says({ jsonrpc: "2.0", id: 2, result: {}, error: { code: 1, message: "both" } });
  expect(await Promise.all(answers)).toMatchObject([{ ok: false }, { ok: false }]);
  expect(client.faults).toHaveLength(2);
});

test("an update of a session nobody was told of is early; one of a session that is being loaded is not", () => {
  const { client, says } = link();
  says(update("s"));
  client.send("session/load", { sessionId: "old", cwd: "/", mcpServers: [] }).catch(() => undefined);
  says(update("old"));
  expect(client.early.map(({ sessionId }) => sessionId)).toEqual(["s"]);
});

test("the agent's requests are answered, unknown ones with an error", async () => {
  const { says, written } = link(async (method) =>
    method === "elicitation/create" ? { action: "decline" } : undefined,
  );
  says({ jsonrpc: "2.0", id: "a", method: "elicitation/create", params: {} });
  says({ jsonrpc: "2.0", id: "b", method: "fs/read_text_file", params: {} });
  await expect.poll(() => written).toHaveLength(2);
  expect(written).toMatchObject([
    { id: "a", result: { action: "decline" } },
    { id: "b", error: { code: -32601 } },
  ]);
});

test("silence and the agent's end both fail a request, each with its cause", async () => {
  const { client, gone } = link();
  await expect(client.request("initialize", {}, 1)).rejects.toThrow(
    new CheckFailure("no answer to initialize within 1 ms"),
  );
  gone.resolve({ words: "exited with code 3" });
  await expect(client.request("session/new", {}, 1_000)).rejects.toThrow("the agent exited with code 3");
});
