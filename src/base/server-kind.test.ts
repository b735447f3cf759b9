// Names of transports as people write them.
import { expect, test } from "vitest";
import { normaliseKind } from "./server-kind.js";

test.each([
  ["stdio", "stdio"],
  ["http", "http"],
  ["streamable-http", "http"],
  ["streamableHttp", "http"],
  ["streamable_http", "http"],
  ["sse", "sse"],
])("%s means %s, and nothing need be said about it", (type, kind) => {
  expect(normaliseKind(type)).toEqual({ kind });
});

test("websocket is taken as http, with a note", () => {
  expect(normaliseKind("websocket")).toEqual({ kind: "http", note: expect.stringContaining("Streamable HTTP") });
});

test.each(["", "STDIO", "__proto__", "constructor", "acp"])("%j is no transport", (type) => {
  expect(normaliseKind(type)).toBeUndefined();
});
