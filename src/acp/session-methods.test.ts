// What the methods about one session may be asked with: anything else is a named error.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { TenonError } from "../base/errors.js";
import type { SessionAccess } from "./access.js";
import { readSetTools, sessionMethods } from "./session-methods.js";

test("set_tools: the mode is replace unless given, and what is wrong is named", () => {
  expect(readSetTools({ key: "my tools" })).toEqual({ key: "my tools", mode: "replace", tools: [] });
  expect(readSetTools({ key: "ключ-1", mode: "add", tools: [1] })).toEqual({ key: "ключ-1", mode: "add", tools: [1] });
  const words = (params: object) => () => readSetTools(JSON.parse(JSON.stringify(params)));
  for (const key of [undefined, "", "__proto__", " a", "a\nb", "a\u202eb", "x".repeat(65), 7, null, ["a"]]) {
    expect(words({ key })).toThrow(/^key must be a text of 1 to 64 letters/u);
  }
  expect(words({ key: "a", mode: "replaced" })).toThrow("mode must be one of replace, add, remove, clear");
  expect(words({ key: "a", tools: { name: "x" } })).toThrow("tools must be a list");
});

test("set_tools: whatever comes is read, or refused as an invalid request", () => {
  const params = fc.record(
    {
      key: fc.oneof(fc.string(), fc.jsonValue()),
      mode: fc.oneof(fc.constantFrom("replace", "add", "remove", "clear"), fc.jsonValue()),
      tools: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(params, (given) => {
      try {
        const { key, mode, tools } = readSetTools(JSON.parse(JSON.stringify(given)));
        expect(["replace", "add", "remove", "clear"]).toContain(mode);
        expect(key.length).toBeLessThanOrEqual(64);
        expect(Array.isArray(tools)).toBe(true);
      } catch (error) {
        if (!(error instanceof TenonError)) throw error;
        expect(error.code).toBe("session.invalid_request");
      }
    }),
  );
});

test("records: kinds beyond the limit are refused before anything is read", async () => {
  const read: number[] = [];
  const access = {
    records: (_id: string, after: number) => {
      read.push(after);
      return Promise.resolve([
        { kind: "usage", seq: 1 },
        { kind: "text", seq: 2 },
      ] as never[]);
    },
  };
  const finding = { peek: () => undefined, joined: expect.unreachable, takenBack: (signal: AbortSignal) => signal };
  const methods = sessionMethods(access as unknown as SessionAccess, finding);
  const { signal } = new AbortController();
  const records = async (kinds: string[]) =>
    await methods["_tenon/session/records"]({ sessionId: "s", kinds }, () => {}, signal);
  const most = Array.from({ length: 64 }, (_, at) => (at === 0 ? "usage" : ""));
  expect(await records(most)).toEqual({ records: [{ kind: "usage", seq: 1 }], seq: 2, next: 2 });
  await expect(records([...most, "text"])).rejects.toMatchObject({
    code: "session.invalid_request",
    message: "kinds has 65 entries: there may be at most 64",
  });
  expect(read).toEqual([0]);
});
