// The tools some servers have now, asked of the servers themselves.
import type { EffectiveConfig, EffectiveServer } from "../../config/index.js";
import { whyNotReady } from "../../config/index.js";
import type { ToolDefinition } from "../../tools/index.js";
import type { CommandContext } from "../configuration/context.js";
import { serverNamed } from "../servers/connect.js";
import { visitAll } from "../servers/visit-all.js";

export type ListedServer =
  | {
      readonly name: string;
      readonly tools: readonly ToolDefinition[];
      readonly error?: undefined;
      readonly hint?: undefined;
    }
  | { readonly name: string; readonly error: string; readonly hint: string; readonly tools?: undefined };

/** In the order of the names; throws `config.invalid` for one that nobody configured. */
export async function listTools(
  names: readonly string[],
  config: EffectiveConfig,
  context: CommandContext,
  timeoutMs: number,
): Promise<readonly ListedServer[]> {
  const servers = [...new Set(names)].map((name) => serverNamed(config, name));
  const looked = await visitAll({ ...config, servers }, context, { timeoutMs });
  return looked.map(({ server, look }): ListedServer => {
    const { name } = server;
    if (look?.error) return { name, error: look.error.message, hint: look.error.hint };
    if (look) return { name, tools: look.tools.map(({ tool }) => tool) };
    return { name, error: whyNotReady(server) ?? server.status, hint: cureOf(server) };
  });
}

function cureOf({ name, status }: EffectiveServer): string {
  return status === "untrusted" ? `tenon trust approve ${name}` : `tenon mcp get ${name}`;
}
