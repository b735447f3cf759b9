// What a decision of `tenon trust` is about.
import { misused } from "../table/parse.js";

/** One server, the project's settings, or everything that is open. */
export type TrustSubject =
  | { readonly kind: "server"; readonly name: string }
  | { readonly kind: "settings" }
  | { readonly kind: "all" };

interface Flags {
  readonly all?: boolean | undefined;
  readonly settings?: boolean | undefined;
}

export function subjectOf(
  verb: string,
  [name]: readonly string[],
  { all = false, settings = false }: Flags,
): TrustSubject {
  if (Number(name !== undefined) + Number(all) + Number(settings) > 1) {
    throw misused(`${verb} takes one server, --settings or --all`);
  }
  if (name !== undefined) return { kind: "server", name };
  if (settings) return { kind: "settings" };
  if (all) return { kind: "all" };
  throw misused(`name the server to ${verb} (or --settings for the project's settings)`);
}
