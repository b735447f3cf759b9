// The tool a person names by its server's own name: the one there is, or why there is none, and what models get of it.
import { TenonError } from "../../base/errors.js";
import { nearest } from "../../base/text/nearest.js";
import type { EffectiveConfig, ReadyServer } from "../../config/index.js";
import { sourceSettings } from "../../config/index.js";
import type { McpTool, ServerConnection } from "../../mcp/index.js";
import { whyFiltered } from "../../tools/index.js";
import { shellWord } from "./next.js";
import { ruleAgainst } from "./why-approval.js";

type NamingSettings = Pick<ReadyServer["settings"], "prefix" | "shapes">;

/** Throws `tool.unknown` with the reason. */
export function toolNamed(
  { tools, problems }: Pick<ServerConnection, "tools" | "problems">,
  { name, settings }: { readonly name: string; readonly settings: NamingSettings },
  wanted: string,
): McpTool {
  const found = tools.value.find((tool) => tool.name === wanted);
  if (found) return found;
  const quoted = JSON.stringify(wanted);
  const reason = reasonIn(problems, wanted);
  if (reason !== undefined) {
    throw new TenonError("tool.unknown", `the tool ${quoted} of ${name} is left out of its list: ${reason}`, {
      hint: `See tenon mcp test ${shellWord(name)}. Its server has to be put right.`,
    });
  }
  const own = ownName(wanted, settings, tools.value);
  if (own !== undefined) {
    throw new TenonError("tool.unknown", `${name} has no tool ${quoted}: that is what models call its ${own}`, {
      hint: `tenon mcp call ${shellWord(name)} ${shellWord(own)}`,
    });
  }
  const near = nearest(
    wanted,
    tools.value.map((tool) => tool.name),
  );
  const meant = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
  throw new TenonError("tool.unknown", `${name} has no tool ${quoted}${meant}`, {
    hint: `See tenon mcp tools ${shellWord(name)}.`,
  });
}

/** Why no model is offered it, or may call it, here: the person's own call is made all the same. */
export function keptFromModels(tool: McpTool, server: ReadyServer, config: EffectiveConfig): string | undefined {
  const filtered = whyFiltered(sourceSettings(server.settings), tool.name);
  if (filtered !== undefined) return `models are not offered ${tool.name}: ${filtered}`;
  const { name, annotations } = tool;
  const about = { origin: server.settings.origin, source: server.name, definition: { name, annotations } };
  const rule = ruleAgainst(about, server, config);
  return rule === undefined ? undefined : `models may not call ${tool.name}: ${rule}`;
}

/** Problems name a tool in quotes, and a long name by its beginning. */
function reasonIn(problems: readonly string[], wanted: string): string | undefined {
  for (const problem of problems) {
    const [, named, reason] = /^tool "(.*)" is left out: (.*)$/su.exec(problem) ?? [];
    const isMeant = named === wanted || (named?.endsWith("...") && wanted.startsWith(named.slice(0, -3)));
    if (isMeant === true) return reason;
  }
  return undefined;
}

/** The server's own name of what its entry calls otherwise. */
function ownName(
  wanted: string,
  { prefix = "", shapes }: NamingSettings,
  tools: readonly McpTool[],
): string | undefined {
  return tools.find(({ name }) => (shapes[name]?.name ?? `${prefix}${name}`) === wanted)?.name;
}
