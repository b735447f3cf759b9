// Command-line words -> options, with an error that says which word was wrong.
import { parseArgs } from "node:util";
import { messageOf } from "../base/errors.js";

export type Parsed<T> = { readonly ok: true; readonly options: T } | { readonly ok: false; readonly reason: string };

export interface ChatArguments {
  readonly prompt?: string;
  readonly mcpConfig?: string;
  readonly model?: string;
  readonly trace?: string;
  readonly yes: boolean;
  readonly json: boolean;
}

export interface AcpArguments {
  readonly model?: string;
  readonly trace?: string;
  /** Set a provider up in this terminal instead of serving. */
  readonly setup?: boolean;
}

export function parseAcpArguments(words: readonly string[]): Parsed<AcpArguments> {
  try {
    const options = { model: { type: "string" }, trace: { type: "string" }, setup: { type: "boolean" } } as const;
    const { model, trace, setup } = parseArgs({ args: [...words], options, strict: true }).values;
    return {
      ok: true,
      options: {
        ...(model === undefined ? {} : { model }),
        ...(trace === undefined ? {} : { trace }),
        ...(setup === undefined ? {} : { setup }),
      },
    };
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
        trace: { type: "string" },
        yes: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const { prompt, model, trace, yes, json } = values;
    const mcpConfig = values["mcp-config"];
    return {
      ok: true,
      options: {
        yes,
        json,
        ...(prompt === undefined ? {} : { prompt }),
        ...(model === undefined ? {} : { model }),
        ...(trace === undefined ? {} : { trace }),
        ...(mcpConfig === undefined ? {} : { mcpConfig }),
      },
    };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}
