// Whether a tool that is in front of the model could be called at all: what the person and their rules said of it.
import { join } from "node:path";
import { type EffectiveConfig, type ReadyServer, tenonPaths } from "../../config/index.js";
import type { WhyAnswer } from "../../index.js";
import { launchFingerprint } from "../../mcp/index.js";
import { ApprovalFiles, type CatalogTool, decide, type KeptApproval, NO_PATHS } from "../../tools/index.js";
import type { CommandContext } from "../configuration/context.js";

/** The answer, or `not_approved` in its place for a tool whose every call is refused or must be asked about anew. */
export async function withApproval(
  answer: WhyAnswer,
  config: EffectiveConfig,
  context: CommandContext,
): Promise<WhyAnswer> {
  const { tool } = answer;
  const server = config.servers.find(({ name, status }) => status === "ready" && name === tool?.source);
  if (!tool || tool.origin === "builtin" || server?.status !== "ready") return answer;
  const rule = ruleAgainst(tool, server, config);
  const refusal =
    rule === undefined ? await saidOf(tool, server, { config, context }) : `But every call of it is refused: ${rule}.`;
  return refusal === undefined ? answer : { ...answer, kind: "not_approved", text: `${answer.text} ${refusal}` };
}

type RuledDefinition = {
  readonly name: string;
  readonly annotations?: CatalogTool["definition"]["annotations"] | undefined;
};

/** Only a rule that is about every call of it: conditions on arguments are not known here. */
export function ruleAgainst(
  tool: Pick<CatalogTool, "origin" | "source"> & { readonly definition: RuledDefinition },
  server: ReadyServer,
  config: EffectiveConfig,
): string | undefined {
  const { effect, reason } = decide(
    {
      origin: tool.origin,
      server: tool.source,
      tool: tool.definition.name,
      annotations: tool.definition.annotations,
      trustsAnnotations: server.settings.trustsAnnotations,
      arguments: {},
      paths: NO_PATHS,
      mode: config.permissionMode?.value ?? "ask",
      mayBypass: config.mayBypass,
    },
    config.rules,
  );
  return effect === "deny" ? reason : undefined;
}

async function saidOf(
  tool: CatalogTool,
  server: ReadyServer,
  { config, context }: { readonly config: EffectiveConfig; readonly context: CommandContext },
): Promise<string | undefined> {
  const { world } = context;
  const files = new ApprovalFiles(world, join(tenonPaths(world.env).stateDir, "approvals"));
  const kept = await files.load({
    origin: tool.origin,
    name: tool.source,
    fingerprint: launchFingerprint(server.spec),
    ...(server.settings.origin === "project" ? { project: config.project } : {}),
  });
  const about = kept.filter((one) => isAbout(one, tool));
  if (about.some(({ decision }) => decision === "never")) {
    return "But every call of it is refused: you said never to it.";
  }
  const approved = about.flatMap(({ tools }) => tools.filter(({ name }) => name === tool.definition.name));
  const isChanged = approved.length > 0 && approved.every(({ hash }) => hash !== tool.definitionHash);
  return isChanged ? "But its definition changed since you approved it, so the next call asks again." : undefined;
}

function isAbout({ scope, tools }: KeptApproval, { definition }: CatalogTool): boolean {
  return scope === "server" || tools.some(({ name }) => name === definition.name);
}
