// A call that needs a page first: the page is shown, nothing is sent again, and the words say what to do.
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { pagesFirst } from "./call.js";

const { signal } = new AbortController();

async function refused(data: JsonValue, action?: string) {
  const asked: JsonObject[] = [];
  const askPeer = async (method: string, params: JsonObject) => {
    asked.push({ method, ...params });
    if (action === undefined) throw new Error("window gone");
    return { action };
  };
  const error = { code: -32_042, message: "log in first", data };
  const told = await pagesFirst({ askPeer }, { error, where: "s / tool", signal });
  return { asked, text: told.message };
}

const page = { mode: "url", url: "https://x.test/", message: "log in", elicitationId: "e" };

test("each page is shown, and what to do is said", async () => {
  const { asked, text } = await refused({ elicitations: [page, { ...page, mode: "form" }] }, "accept");
  expect(asked).toEqual([
    { method: "elicitation/create", ...page },
    { method: "elicitation/create", ...page },
  ]);
  expect(text).toBe(
    "s / tool: the server answered with error -32042: log in first; the person was shown the page; call again once they say that it is done",
  );
});

test.each(["decline", "cancel", undefined])("with %s no further page is shown", async (action) => {
  const { asked, text } = await refused({ elicitations: [page, page] }, action);
  expect(asked).toHaveLength(1);
  expect(text).toContain("was not sent to the page");
});

test.each<JsonValue>([null, {}, { elicitations: 7 }, { elicitations: [] }, { elicitations: ["x"] }])(
  "%j names no page",
  async (data) => {
    const { asked, text } = await refused(data, "accept");
    expect(asked).toEqual([]);
    expect(text).toContain("log in first");
  },
);

test("without anybody to ask it is an error like any other", async () => {
  const error = { code: -32_042, message: "log in first", data: { elicitations: [page] } };
  expect((await pagesFirst({}, { error, where: "s / tool", signal })).message).toContain("was not sent");
});
