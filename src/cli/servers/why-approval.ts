// Whether a tool that is in front of the model could be called at all: what the person and their rules said of it.
import type { EffectiveConfig, ReadyServer } from "../../config/index.js";
import type { WhyAnswer } from "../../index.js";
import { programOf } from "../../session/index.js";
import { type CatalogTool, decide, NO_PATHS } from "../../tools/index.js";
import { decisionFiles } from "../configuration/approvals.js";
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
    rule === undefined ? await saidOf(tool, server, context) : `But every call of it is refused: ${rule}.`;
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

async function saidOf(tool: CatalogTool, server: ReadyServer, context: CommandContext): Promise<string | undefined> {
  const { world, cwd } = context;
  const { name } = tool.definition;
  const project = (await world.files.find(cwd).catch(() => undefined))?.realPath ?? cwd;
  const { decisions } = await decisionFiles(context).load(project);
  const about = decisions.flatMap(({ decision }) => {
    const isAbout = "server" in decision && decision.server === tool.source && decision.tool === name;
    return isAbout && decision.origin === tool.origin ? [decision] : [];
  });
  if (about.some(({ kind }) => kind === "never")) return "But every call of it is refused: you said never to it.";
  const program = await programOf(server.spec, { world, cwd }).catch(() => undefined);
  const grants = about.filter((one) => one.kind === "tool" && one.program === program);
  const isChanged =
    grants.length > 0 && grants.every((one) => one.kind === "tool" && one.definitionHash !== tool.definitionHash);
  return isChanged ? "But its definition changed since you approved it, so the next call asks again." : undefined;
}
