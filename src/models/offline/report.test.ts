// Results in plain sentences.
import { describe, expect, test } from "vitest";
import type { ContentBlock } from "../../base/text/content.js";
import { report } from "./operator.js";

function reported(content: readonly ContentBlock[], isError = false): string {
  return report({ callId: "1", name: "mcp__demo__show", isError, content });
}

describe("a result", () => {
  test("of one line is told on one line, and a longer one below", () => {
    expect(reported([{ type: "text", text: "42\n" }])).toBe("show answered: 42");
    expect(reported([{ type: "text", text: "a\nb" }])).toBe("show answered:\n\na\nb\n");
  });

  test("that is an error is called a failure", () => {
    expect(reported([{ type: "text", text: "no such file" }], true)).toBe("show failed: no such file");
    expect(reported([], true)).toBe("show failed and did not say why.");
  });

  test("that is empty says so", () => {
    expect(reported([])).toBe("show finished and returned nothing.");
    expect(reported([{ type: "text", text: " \n" }])).toBe("show finished and returned nothing.");
  });

  test.each<[ContentBlock, string]>([
    [{ type: "image", data: "A".repeat(4000), mimeType: "image/png" }, "show returned an image (image/png, 3.0 kB)."],
    [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }, "show returned a sound (audio/wav, 3 bytes)."],
    [{ type: "resource", uri: "demo://a", text: "hello" }, "show returned the resource demo://a: hello"],
    [
      { type: "resource", uri: "demo://b", mimeType: "application/gzip", blob: "A".repeat(4_000_000) },
      "show returned the resource demo://b (application/gzip, 3.0 MB).",
    ],
    [{ type: "resource_link", uri: "demo://c", name: "c", title: "See" }, "show points to See (demo://c)"],
    [{ type: "unknown", kind: "hologram", raw: {} }, 'show returned content of a kind I cannot show ("hologram").'],
  ])("with other content names it: %j", (block, expected) => {
    expect(reported([block])).toBe(expected);
  });

  test("with text and other content tells both", () => {
    const blocks: ContentBlock[] = [
      { type: "text", text: "Here it is:" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ];
    expect(reported(blocks)).toBe("show answered: Here it is:\nIt returned an image (image/png, 3 bytes).");
  });

  test("does not repeat what Tenon wrote to the model in place of a picture", () => {
    const note =
      '[tenon: image "image/png", 4033 bytes: this model does not take it; the person has it. Kept as r1; pass it to a tool as {"$result":"r1"} as base64]';
    const pdf =
      '[tenon: document "application/pdf" of the resource "x:p", 9 bytes: one too many for the model; the person has it]';
    expect(reported([{ type: "text", text: `Here:\n${note}\nand there\n${pdf}` }])).toBe(
      "show answered:\n\nHere:\nand there\n\nIt returned an image (image/png, 4.0 kB).\nIt returned a document (application/pdf, 9 bytes).",
    );
    expect(reported([{ type: "text", text: note }])).toBe("show returned an image (image/png, 4.0 kB).");
  });

  test("that is very long is cut, and says by how much", () => {
    const told = reported([{ type: "text", text: "x".repeat(9_000) }]);
    expect(told).toContain("… and 1000 more characters.");
    expect(told.length).toBeLessThan(8_200);
  });
});
