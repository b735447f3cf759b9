// Blocks as plain words, and the size of base64 without decoding it.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { base64Bytes, type ContentBlock, plainText, text } from "./content.js";

describe("plainText", () => {
  test.each<[string, ContentBlock, string]>([
    ["text as it is", text(" two\nlines "), " two\nlines "],
    [
      "an image as its kind and size",
      { type: "image", data: "AAAA", mimeType: "image/png" },
      "[image image/png, 3 bytes]",
    ],
    [
      "audio as its kind and size",
      { type: "audio", data: "AA==", mimeType: "audio/wav" },
      "[audio audio/wav, 1 bytes]",
    ],
    ["the text of a resource", { type: "resource", uri: "file:///a", text: "inside" }, "inside"],
    [
      "a binary resource as its address and size",
      { type: "resource", uri: "file:///a", blob: "AAA=" },
      "[resource file:///a, 2 bytes]",
    ],
    ["a link by its title", { type: "resource_link", uri: "x:y", name: "n", title: "T" }, "[T](x:y)"],
    ["a link without title by its name", { type: "resource_link", uri: "x:y", name: "n" }, "[n](x:y)"],
    [
      "what is in a file by its start and its place",
      { type: "spilled", kind: "text", bytes: 20_000_000, path: "/tmp/x", preview: "Once" },
      "Once…\n[text, 20000000 bytes, kept in the file /tmp/x]",
    ],
    [
      "an image in a file by its type",
      { type: "spilled", kind: "image", bytes: 9, path: "/tmp/x", mimeType: "image/png", preview: "" },
      "[image image/png, 9 bytes, kept in the file /tmp/x]",
    ],
    [
      "an unknown block by its kind",
      { type: "unknown", kind: "hologram", raw: null },
      '[unsupported content block "hologram"]',
    ],
  ])("gives %s", (_, block, words) => expect(plainText([block])).toBe(words));

  test("joins blocks with newlines and leaves empty ones out", () => {
    expect(plainText([text("a"), text(""), { type: "resource", uri: "x", text: "" }, text("b")])).toBe("a\nb");
    expect(plainText([])).toBe("");
  });
});

describe("base64Bytes", () => {
  test("is the length of what the text decodes to, padded or not", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const data = Buffer.from(bytes).toString("base64");
        expect(base64Bytes(data)).toBe(bytes.length);
        expect(base64Bytes(data.replace(/=+$/, ""))).toBe(bytes.length);
      }),
    );
  });

  test("is never negative", () => {
    for (const data of ["", "=", "==", "A=="]) expect(base64Bytes(data)).toBeGreaterThanOrEqual(0);
  });
});
