// A source for tests: its list can be set, its calls are recorded.
import { Cell } from "../src/base/async/cell.js";
import { text } from "../src/base/text/content.js";
import type { SourceCall, SourceState, ToolDefinition, ToolOrigin, ToolSource } from "../src/tools/tool.js";

export interface TestSource extends ToolSource {
  readonly tools: Cell<readonly ToolDefinition[]>;
  readonly state: Cell<SourceState>;
  readonly calls: SourceCall[];
}

export function testTool(name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return { name, description: `Does ${name.replaceAll("_", " ")}.`, inputSchema: { type: "object" }, ...more };
}

export function testSource(
  name: string,
  tools: readonly (string | ToolDefinition)[],
  more: Partial<Pick<ToolSource, "origin" | "isProcess" | "about" | "leftOut">> & { origin?: ToolOrigin } = {},
): TestSource {
  const calls: SourceCall[] = [];
  return {
    name,
    origin: "client",
    tools: new Cell<readonly ToolDefinition[]>(tools.map((tool) => (typeof tool === "string" ? testTool(tool) : tool))),
    state: new Cell<SourceState>({ kind: "ready" }),
    calls,
    call: async (call) => {
      calls.push(call);
      return { kind: "done", content: [text("ok")] };
    },
    ...more,
  };
}

/** Names that differ and say nothing. */
export function names(count: number, prefix = "tool"): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}_${index}`);
}
