// Command-line words -> options, with an error that says which word was wrong.
import { parseArgs } from "node:util";
import { messageOf } from "../base/errors.js";

export type Parsed<T> = { readonly ok: true; readonly options: T } | { readonly ok: false; readonly reason: string };

export interface ChatArguments {
  readonly prompt?: string;
  readonly mcpConfig?: string;
  readonly model?: string;
  readonly yes: boolean;
  readonly json: boolean;
}

export function parseAcpArguments(words: readonly string[]): Parsed<{ model?: string }> {
  try {
    const { values } = parseArgs({ args: [...words], options: { model: { type: "string" } }, strict: true });
    return { ok: true, options: values.model === undefined ? {} : { model: values.model } };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

export function parseChatArguments(words: readonly string[]): Parsed<ChatArguments> {
  try {
    const { values } = parseArgs({
      args: [...words],
      strict: true,
      options: {
        prompt: { type: "string", short: "p" },
        "mcp-config": { type: "string" },
        model: { type: "string" },
        yes: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const { prompt, model, yes, json } = values;
    const mcpConfig = values["mcp-config"];
    return {
      ok: true,
      options: {
        yes,
        json,
        ...(prompt === undefined ? {} : { prompt }),
        ...(model === undefined ? {} : { model }),
        ...(mcpConfig === undefined ? {} : { mcpConfig }),
      },
    };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}
