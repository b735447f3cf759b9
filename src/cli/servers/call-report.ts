// The answer of a tool, for people and for programs.

import { unreachable } from "../../base/id.js";
import { defined } from "../../base/json/defined.js";
import type { JsonObject } from "../../base/json/json.js";
import type { ContentBlock } from "../../base/text/content.js";
import type { CallOutcome } from "../../mcp/index.js";
import { visible, visibleJson } from "../terminal/visible.js";

export function answerLines(outcome: CallOutcome): readonly string[] {
  switch (outcome.kind) {
    case "answered": {
      const { content, structured, warnings = [] } = outcome;
      const isSaid = content.length > 0;
      return [
        ...content.map(blockText),
        ...(structured === undefined || isSaid ? [] : [visibleJson(JSON.stringify(structured, undefined, 2))]),
        ...warnings.map((text) => `! ${visible(text)}`),
        ...(outcome.isError ? ["The tool answered with an error."] : []),
      ];
    }
    case "cancelled":
      return ["Cancelled."];
    case "failed":
      return [`Failed: ${visible(outcome.error.message)}`, `  ${visible(outcome.error.hint)}`];
    case "unknown":
      return [`Nobody knows whether it took effect: ${visible(outcome.error.message)}`];
    default:
      return unreachable(outcome);
  }
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return visible(block.text);
    case "image":
    case "audio":
      return `[${block.type} ${visible(block.mimeType)}, ${Math.floor((block.data.length * 3) / 4)} bytes]`;
    case "resource":
      return block.text === undefined ? `[resource ${visible(block.uri)}]` : visible(block.text);
    case "resource_link":
      return `[${visible(block.name)}: ${visible(block.uri)}]`;
    case "spilled":
      return `[${block.kind} of ${block.bytes} bytes] ${visible(block.preview)}`;
    case "unknown":
      return "[a block of a kind that is not known]";
    default:
      return unreachable(block);
  }
}

/** A file that goes with the connection is of no use to anybody afterwards. */
function blockJson(block: ContentBlock): JsonObject {
  if (block.type !== "spilled") return { ...block };
  const { path: _path, ...rest } = block;
  return rest;
}

export function answerJson(outcome: CallOutcome): JsonObject {
  switch (outcome.kind) {
    case "answered": {
      const { content, structured, warnings, isError } = outcome;
      return {
        outcome: isError ? "error" : "done",
        content: content.map(blockJson),
        ...defined({ structured, warnings }),
      };
    }
    case "cancelled":
      return { outcome: "cancelled" };
    case "failed":
    case "unknown": {
      const { code, message, hint } = outcome.error;
      return { outcome: outcome.kind, error: { code, message, hint } };
    }
    default:
      return unreachable(outcome);
  }
}
