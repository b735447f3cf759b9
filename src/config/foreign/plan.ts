// What `tenon mcp import` would do with each server of other clients, given what is in the file they are to be copied to. Pure.
import { canonicalJson, type JsonObject } from "../../base/json/json.js";
import { placeText } from "../layers/read-layer.js";
import {
  hasSecretWords,
  type Referenced,
  type SecretLiteral,
  type SecretWay,
  secretLiterals,
  withReferences,
} from "../secrets/mask.js";
import { DIALECTS } from "./clients.js";
import type { ForeignRead, ForeignServer } from "./read.js";

/** `skip`: nothing is wrong with it, it is only not for us. */
export type ImportAction = "add" | "replace" | "same" | "conflict" | "cannot" | "skip";

export interface PlannedServer extends Pick<ForeignServer, "name" | "place"> {
  readonly action: ImportAction;
  /** Why it is not to be copied. */
  readonly reason?: string;
  /** As it would be written. */
  readonly entry?: JsonObject;
  readonly notes: readonly string[];
  /** Those that stand in the other client's file as they are. */
  readonly secrets: readonly SecretLiteral[];
  /** What the keyring must hold before it is written. */
  readonly kept: Referenced["kept"];
}

export interface PlannedFile extends Pick<ForeignRead, "client" | "file" | "owner" | "problems"> {
  /** The client's name for people. */
  readonly label: string;
  readonly servers: readonly PlannedServer[];
}

export interface ImportTarget {
  readonly layer: "user" | "project";
  /** What is in the file now, valid or not. */
  readonly existing: ReadonlyMap<string, JsonObject>;
  readonly mayReplace: boolean;
  readonly secrets: SecretWay;
  /** Only these, if any. */
  readonly only: ReadonlySet<string>;
}

/** Of two clients with a server of the same name, the first counts; of two files of one client, the stronger, which comes last. */
export function planImport(reads: readonly ForeignRead[], target: ImportTarget): readonly PlannedFile[] {
  const { only } = target;
  const clients = [...new Set(reads.map(({ client }) => client))];
  const planned = new Map<ForeignRead, PlannedFile>();
  const taken: Taken = new Map();
  const strongestFirst = clients.flatMap((client) => reads.filter((one) => one.client === client).reverse());
  for (const read of strongestFirst.filter(({ isThere }) => isThere)) {
    const { client, file, owner, problems } = read;
    const servers = read.servers
      .filter(({ name }) => only.size === 0 || only.has(name))
      .map((server) => plannedServer(server, read, target, taken));
    planned.set(read, { client, file, owner, problems, label: DIALECTS[client].label, servers });
  }
  return reads.flatMap((read) => planned.get(read) ?? []);
}

/** What this very import brings. */
type Taken = Map<string, { readonly entry: JsonObject; readonly from: string }>;

function plannedServer(found: ForeignServer, read: ForeignRead, target: ImportTarget, taken: Taken): PlannedServer {
  const { name, place, server, problems } = found;
  const base = { name, place, notes: found.notes, secrets: [], kept: [] };
  if (!server) {
    const reason = problems.map(({ message }) => message).join("; ");
    return { ...base, action: found.isExpected ? "skip" : "cannot", reason };
  }
  if (read.owner === "project" && target.layer === "user") {
    // Copied to the user's own file it would be trusted everywhere.
    return { ...base, action: "skip", reason: "it is this project's: --project copies it to the project's own file" };
  }
  const { written } = server.definition;
  const secrets = secretLiterals(name, written);
  const { entry, kept } = withReferences(name, written, target.secrets);
  const words = hasSecretWords(written) ? ["its words hold what looks like a secret, which stays as it is"] : [];
  const planned = { ...base, entry, kept, secrets, notes: [...base.notes, ...words] };
  const rival = taken.get(name);
  if (rival) {
    if (canonicalJson(rival.entry) === canonicalJson(written)) {
      return { ...planned, action: "same", reason: `the same as in ${rival.from}` };
    }
    return { ...planned, action: "conflict", reason: `${rival.from} has another server of that name, which counts` };
  }
  taken.set(name, { entry: written, from: `${DIALECTS[read.client].label} (${placeText(place)})` });
  return { ...planned, ...against(name, written, target) };
}

function against(
  name: string,
  written: JsonObject,
  { existing, mayReplace }: ImportTarget,
): Pick<PlannedServer, "action" | "reason"> {
  const there = existing.get(name);
  if (!there) return { action: "add" };
  // Wherever the secrets went the last time, it is the same server.
  const forms = (["file", "keyring", "env"] as const).map((way) => withReferences(name, written, way).entry);
  // And one that was switched off here is to stay so.
  const { disabled, ...rest } = there;
  const known = disabled === true && written["disabled"] === undefined ? rest : there;
  if (forms.some((form) => canonicalJson(form) === canonicalJson(known))) return { action: "same" };
  if (mayReplace) return { action: "replace" };
  return { action: "conflict", reason: "another server of that name is there: --replace puts this one in its place" };
}
