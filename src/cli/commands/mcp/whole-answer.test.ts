// Whatever came in a file is in the answer again; what did not stays as it is.
import { expect, test } from "vitest";
import type { SpilledBlock } from "../../../base/text/content.js";
import type { CallOutcome } from "../../../mcp/index.js";
import { fakeWorld } from "../../../testing/index.js";
import { isCut, wholeAnswer } from "./call.js";

const { files } = fakeWorld({ files: { "/text": "long text", "/data": "bytes", "/json": '{"a":[1]}', "/odd": "{" } });

function spilled(kind: SpilledBlock["kind"], path: string, more: Partial<SpilledBlock> = {}): SpilledBlock {
  return { type: "spilled", kind, path, bytes: 5, preview: path === "/data" ? "" : "l", ...more };
}

function answered(...content: readonly SpilledBlock[]): CallOutcome {
  return { kind: "answered", isError: false, content: [{ type: "text", text: "short" }, ...content] };
}

test("texts, resources and structured content", async () => {
  const outcome = answered(
    spilled("text", "/text"),
    spilled("resource", "/text", { uri: "file:///a", mimeType: "text/plain" }),
    spilled("structured", "/json"),
  );
  expect(isCut(outcome)).toBe(true);
  const whole = await wholeAnswer(outcome, files, { withData: false });
  expect(whole).toEqual({
    kind: "answered",
    isError: false,
    content: [
      { type: "text", text: "short" },
      { type: "text", text: "long text" },
      { type: "resource", uri: "file:///a", text: "long text", mimeType: "text/plain" },
    ],
    structured: { a: [1] },
  });
  expect(isCut(whole)).toBe(false);
});

test("images, audio and blobs only for programs", async () => {
  const outcome = answered(
    spilled("image", "/data", { mimeType: "image/png" }),
    spilled("audio", "/data"),
    spilled("resource", "/data", { uri: "file:///b" }),
  );
  expect(await wholeAnswer(outcome, files, { withData: false })).toEqual(outcome);
  const data = Buffer.from("bytes").toString("base64");
  expect(await wholeAnswer(outcome, files, { withData: true })).toMatchObject({
    content: [
      { type: "text", text: "short" },
      { type: "image", data, mimeType: "image/png" },
      { type: "audio", data, mimeType: "application/octet-stream" },
      { type: "resource", uri: "file:///b", blob: data },
    ],
  });
});

test("what is no JSON after all is what was sent", async () => {
  expect(await wholeAnswer(answered(spilled("structured", "/odd")), files, { withData: true })).toMatchObject({
    structured: "{",
  });
});

test("a call that was not answered has nothing to put together", async () => {
  expect(await wholeAnswer({ kind: "cancelled" }, files, { withData: true })).toEqual({ kind: "cancelled" });
});
