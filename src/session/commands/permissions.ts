// `/permissions`: what is granted and refused in this session and project, taking it back, and granting a server's tools.
import { messageOf } from "../../base/errors.js";
import { grantId, grantLabel, type KeptDecision, type OfferedGrant } from "../../tools/index.js";
import { type Command, type CommandContext, oneLine } from "./command.js";

const LINE_CHARS = 400;
/** Enough of an id to tell one from another. */
const ID_CHARS = 8;

interface Entry {
  readonly id: string;
  readonly text: string;
  /** `server/tool` or a server, by which it may be named too. */
  readonly names: readonly string[];
  readonly of: KeptDecision | OfferedGrant;
}

export const permissionsCommand: Command = {
  name: "permissions",
  description: "What is allowed and refused here without asking; takes it back, or allows all tools of a server",
  input: "[revoke <id or server/tool> | revoke all | allow <server>]",
  async run(words, context) {
    const [verb = "", ...rest] = words.split(/\s+/u).filter((word) => word !== "");
    const name = rest.join(" ");
    if (verb === "") return await overview(context);
    if (verb === "revoke" && name !== "") return await revoke(name, context);
    if (verb === "allow" && name !== "") return await allow(name, context);
    return "Use `/permissions`, `/permissions revoke <id>`, `/permissions revoke all` or `/permissions allow <server>`.";
  },
};

async function entriesOf({ permissions }: CommandContext): Promise<readonly Entry[]> {
  const { session, kept } = await permissions.decisions();
  return [
    ...session.map((of): Entry => ({ id: `session-${grantId(of)}`, text: grantLabel(of), names: namesOf(of), of })),
    ...kept.map((of): Entry => ({ id: of.id, text: decisionText(of), names: namesOf(of.decision), of })),
  ];
}

function decisionText({ decision }: KeptDecision): string {
  if (decision.kind === "never") return `Never allow ${decision.server} / ${decision.tool}, in any project`;
  if (decision.kind !== "former") return grantLabel(decision);
  return `${decision.server} / ${decision.tool} was allowed in every project before: its next call asks once more`;
}

function namesOf(about: OfferedGrant | KeptDecision["decision"]): readonly string[] {
  if (!("tool" in about)) return [];
  return [about.server, `${about.server}/${about.tool}`];
}

async function overview(context: CommandContext): Promise<string> {
  const entries = await entriesOf(context);
  const mode = `Mode: **${context.settings.view.mode}**.`;
  if (entries.length === 0) return `${mode} Nothing is granted or refused beyond single calls.`;
  const lines = entries.map(
    ({ id, text }) => `- ${oneLine(text, LINE_CHARS)} \`${id.slice(0, id.indexOf("-") + 1 + ID_CHARS)}\``,
  );
  return [mode, ...lines, "", "`/permissions revoke <id>` takes one back."].join("\n");
}

async function revoke(which: string, context: CommandContext): Promise<string> {
  const entries = await entriesOf(context);
  const meant = entries.filter((entry) => which === "all" || isMeant(entry, which));
  if (meant.length === 0) return `Nothing changed: nothing is kept about ${oneLine(which, 80)}.`;
  try {
    for (const { of } of meant) await context.permissions.revoke(of);
  } catch (error) {
    return `Not everything could be taken back: ${oneLine(messageOf(error), LINE_CHARS)}.`;
  }
  return meant.map(({ text }) => `Taken back: ${oneLine(text, LINE_CHARS)}`).join("\n");
}

function isMeant({ id, names }: Entry, which: string): boolean {
  const digits = id.slice(id.indexOf("-") + 1);
  const isId = which.length >= ID_CHARS && (id.startsWith(which) || digits.startsWith(which));
  return isId || names.includes(which);
}

async function allow(server: string, context: CommandContext): Promise<string> {
  const granted = await context.permissions.grantServer(server);
  if (granted === undefined)
    return `Nothing changed: there is no server ${oneLine(server, 80)} in this session. See \`/mcp\`.`;
  if (granted.length === 0) return `Nothing changed: ${oneLine(server, 80)} has no tools that could be allowed.`;
  const names = granted.map((name) => `\`${oneLine(name, 80)}\``).join(", ");
  return `Allowed in this project, as they are defined now: ${names}. A tool that changes or is added is asked about.`;
}
