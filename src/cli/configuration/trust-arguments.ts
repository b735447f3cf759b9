// The words of `tenon trust` -> what to do. There is no way to approve something without naming it or looking at it.
import { parseArgs } from "node:util";
import { messageOf } from "../../base/errors.js";
import type { Parsed } from "../arguments.js";

/** What a decision is about: one server, the project's settings, or everything that is open. */
export type TrustSubject =
  | { readonly kind: "server"; readonly name: string }
  | { readonly kind: "settings" }
  | { readonly kind: "all" };

export type TrustAction =
  | { readonly verb: "list" }
  | { readonly verb: "approve" | "deny" | "revoke"; readonly subject: TrustSubject };

export interface TrustArguments {
  readonly action: TrustAction;
  readonly json: boolean;
}

const OPTIONS = {
  json: { type: "boolean", default: false },
  all: { type: "boolean", default: false },
  settings: { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
} as const;

export function parseTrustArguments(words: readonly string[]): Parsed<TrustArguments> {
  try {
    const { values, positionals } = parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
    if (values.yes) throw new Error("--yes approves nothing here: name the server");
    const [verb = "list", ...names] = positionals;
    const { json } = values;
    switch (verb) {
      case "list":
        if (names.length > 0 || values.all || values.settings) throw new Error("list takes nothing but --json");
        return { ok: true, options: { action: { verb }, json } };
      case "approve":
      case "deny":
      case "revoke":
        return { ok: true, options: { action: { verb, subject: subjectOf(verb, names, values) }, json } };
      default:
        throw new Error(`there is no ${JSON.stringify(verb)}, only list, approve, deny, revoke`);
    }
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

function subjectOf(
  verb: string,
  names: readonly string[],
  { all, settings }: { readonly all: boolean; readonly settings: boolean },
): TrustSubject {
  const [name, extra] = names;
  if (Number(name !== undefined) + Number(all) + Number(settings) > 1 || extra !== undefined) {
    throw new Error(`${verb} takes one server, --settings or --all`);
  }
  if (name !== undefined) return { kind: "server", name };
  if (settings) return { kind: "settings" };
  if (all) return { kind: "all" };
  throw new Error(`name the server to ${verb} (or --settings for the project's settings)`);
}
