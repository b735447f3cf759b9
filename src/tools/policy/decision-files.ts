// Decisions on disk: one small private file each, so that two processes never write the same one. What cannot be read is reported.
import { isAbsolute, join } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { TOOL_LIMITS } from "../limits.js";
import type { ToolOrigin } from "../tool.js";
import {
  type Decision,
  type DecisionProblem,
  type DecisionStore,
  decisionId,
  type FormerApproval,
  type KeptDecision,
  type LoadedDecisions,
  type MigrationReport,
  type Refusal,
} from "./stored-approvals.js";

type StoreWorld = Pick<World, "files" | "log" | "now">;

const NAME = /^((?:grant|never|former)-[0-9a-f]{32})\.json$/u;
const MARKER = "migrated.json";

export class DecisionFiles implements DecisionStore {
  readonly #world: StoreWorld;
  readonly #stateDir: string | undefined;
  readonly #folder: string | undefined;

  /** A state folder that is not a full path would lie in whatever project is open, so it does not count. */
  constructor(world: StoreWorld, stateDir: string | undefined) {
    this.#world = world;
    this.#stateDir = stateDir !== undefined && isAbsolute(stateDir) ? stateDir : undefined;
    this.#folder = this.#stateDir === undefined ? undefined : join(this.#stateDir, "decisions");
  }

  async load(project?: string): Promise<LoadedDecisions> {
    const folder = this.#folder;
    if (folder === undefined || this.#stateDir === undefined) return { decisions: [], problems: [] };
    // Where approvals were kept before grants; they are read once and left as they are.
    const brought = await this.#migrate(join(this.#stateDir, "approvals"), folder);
    const read = await this.#readAll(folder);
    const problems = [...brought.problems, ...read.problems];
    for (const { file, reason } of problems) this.#world.log.warn("decision.not_read", { file, error: reason });
    const decisions = read.decisions.filter(({ decision }) => {
      return project === undefined || !("project" in decision) || decision.project === project;
    });
    return { decisions, problems, ...defined({ migrated: brought.report }) };
  }

  async keep(decision: Decision): Promise<void> {
    if (this.#folder === undefined) {
      throw new TenonError("config.unreadable", "there is no place to keep the decision: HOME is not set", {
        hint: "Set HOME, or TENON_HOME, to a full path.",
      });
    }
    const text = decisionText(decision, this.#world.now());
    await this.#world.files.writeAtomic(join(this.#folder, `${decisionId(decision)}.json`), `${text}\n`);
  }

  async remove(id: string): Promise<void> {
    const name = `${id}.json`;
    if (this.#folder !== undefined && NAME.test(name)) await this.#world.files.remove(join(this.#folder, name));
  }

  async #readAll(folder: string): Promise<LoadedDecisions> {
    const decisions: KeptDecision[] = [];
    const problems: DecisionProblem[] = [];
    const names = await namesIn(folder, this.#world).catch((error: unknown) => {
      problems.push({ file: folder, reason: messageOf(error) });
      return [];
    });
    for (const name of names.filter((one) => NAME.test(one))) {
      const read = await this.#read(folder, name);
      if (read && "decision" in read) decisions.push(read);
      else if (read) problems.push(read);
    }
    return { decisions, problems };
  }

  /** Undefined when it is gone since the folder was read. */
  async #read(folder: string, name: string): Promise<KeptDecision | DecisionProblem | undefined> {
    const file = join(folder, name);
    const id = name.replace(/\.json$/u, "");
    try {
      return readDecision(id, await readBounded(file, this.#world)) ?? { file, id, reason: "it is damaged" };
    } catch (error) {
      const isGone = (await this.#world.files.kindOf(file).catch(() => "other" as const)) === undefined;
      return isGone ? undefined : { file, id, reason: messageOf(error) };
    }
  }

  /** Brings records of before over, once. As long as one of them cannot be read, that is tried again and reported. */
  async #migrate(
    old: string,
    folder: string,
  ): Promise<{ readonly problems: readonly DecisionProblem[]; readonly report?: MigrationReport }> {
    const { files } = this.#world;
    try {
      if ((await files.kindOf(old)) === undefined || (await files.kindOf(join(folder, MARKER))) !== undefined) {
        return { problems: [] };
      }
      const { never, former, lapsed, problems } = await this.#formerRecords(old);
      if (problems.length > 0) return { problems };
      for (const decision of [...never, ...former]) await this.keep(decision);
      const counts = { never: never.length, former: former.length, lapsed };
      const isFirst = await files.createNew(join(folder, MARKER), `${JSON.stringify({ version: 2, ...counts })}\n`);
      const isNews = counts.never + counts.former + counts.lapsed > 0;
      return { problems: [], ...defined({ report: isFirst && isNews ? { ...counts, backup: old } : undefined }) };
    } catch (error) {
      return { problems: [{ file: old, reason: messageOf(error) }] };
    }
  }

  async #formerRecords(folder: string): Promise<FormerRecords> {
    const records: FormerRecords = { never: [], former: [], lapsed: 0, problems: [] };
    // Keys and drafts are no decisions; what is unreadable and looks like none cannot be one.
    for (const name of (await namesIn(folder, this.#world)).filter((one) => one.endsWith(".json"))) {
      const file = join(folder, name);
      try {
        const text = await readBounded(file, this.#world);
        const isRead = !FORMER_NAME.test(name) || addFormer(text, records);
        if (!isRead) records.problems.push({ file, reason: "it is damaged" });
      } catch (error) {
        records.problems.push({ file, reason: messageOf(error) });
      }
    }
    return records;
  }
}

async function namesIn(folder: string, { files }: StoreWorld): Promise<readonly string[]> {
  if ((await files.kindOf(folder)) === undefined) return [];
  return (await files.entries(folder)).map(({ name }) => name);
}

/** Twice the bound of what is written: what is longer was not written here, and fails as damaged. */
async function readBounded(file: string, { files }: StoreWorld): Promise<string> {
  const bytes = await files.readBytes(file, { start: 0, length: 2 * TOOL_LIMITS.approvalMaxFileBytes });
  return Buffer.from(bytes).toString("utf8");
}

/** A definition that is too long is left out: then a change is shown as a whole. */
function bounded(decision: Decision): Decision {
  if (!("definition" in decision) || decision.definition === undefined) return decision;
  const bytes = Buffer.byteLength(JSON.stringify(decision.definition));
  if (bytes <= TOOL_LIMITS.approvalMaxDefinitionBytes) return decision;
  const { definition: _, ...rest } = decision;
  return rest;
}

/** As it is kept, in a file or a database. */
export function decisionText(decision: Decision, decidedMs: number): string {
  const decidedAt = new Date(decidedMs).toISOString();
  return JSON.stringify({ version: 2, decidedAt, decision: bounded(decision) });
}

/** Undefined for a text that is damaged, or of another decision. */
export function readDecision(id: string, text: string): KeptDecision | undefined {
  const parsed = parseObject(text);
  if (!parsed) return undefined;
  const { version, decidedAt, decision: written } = parsed;
  if (version !== 2 || typeof decidedAt !== "string" || !isJsonObject(written)) return undefined;
  const decision = decisionOf(written);
  // The name says what a file is about, also where it cannot be read: one that says something else was not written here.
  return decision && decisionId(decision) === id ? { id, decision, decidedAt } : undefined;
}

const ORIGINS: readonly ToolOrigin[] = ["client", "project", "user", "builtin", "extra"];

function decisionOf(written: JsonObject): Decision | undefined {
  const { kind, project, folder, words, isExact, site, server, program, tool, definitionHash, definition } = written;
  const origin = originOf(written);
  const shown = defined({ definition: isJsonObject(definition) ? definition : undefined });
  if (kind === "command") {
    if (!isText(project) || !isText(folder) || !isTexts(words) || typeof isExact !== "boolean") return undefined;
    return { kind, project, folder, words, isExact };
  }
  if (kind === "site") return isText(project) && isText(site) ? { kind, project, site } : undefined;
  if (!origin || !isText(server) || !isText(tool)) return undefined;
  if (kind === "never") return { kind, origin, server, tool };
  if (!isText(definitionHash)) return undefined;
  if (kind === "former") return { kind, origin, server, tool, definitionHash, ...shown };
  if (kind !== "tool" || !isText(project) || !isText(program)) return undefined;
  return { kind, project, origin, server, program, tool, definitionHash, ...shown };
}

function originOf({ origin }: JsonObject): ToolOrigin | undefined {
  return ORIGINS.find((one) => one === origin);
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string";
}

function isTexts(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Approvals as they were kept before grants. */
interface FormerRecords {
  readonly never: Refusal[];
  /** To be confirmed once. */
  readonly former: FormerApproval[];
  /** Approvals of Tenon's own tools and of whole servers. */
  lapsed: number;
  /** Files that cannot be read: each may have been a `never`. */
  readonly problems: DecisionProblem[];
}

const FORMER_NAME = /^[0-9a-f]{32}-(?:server|[0-9a-f]{32})\.json$/u;

/** False for a text that is damaged. */
function addFormer(text: string, records: FormerRecords): boolean {
  const record = parseObject(text) ?? {};
  const { version, decision, scope, tools } = record;
  const isKnown = version === 1 && (decision === "always" || decision === "never");
  const isScoped = (scope === "tool" || scope === "server") && Array.isArray(tools);
  const all = isKnown && isScoped ? tools.map((tool: JsonValue) => formerOf(record, tool)) : [undefined];
  const read = all.filter((one) => one !== undefined);
  if (read.length < all.length || !originOf(record) || !isText(record["server"])) return false;
  if (decision === "never") {
    records.never.push(...read.map(({ origin, server, tool }): Refusal => ({ kind: "never", origin, server, tool })));
  } else if (record["origin"] === "builtin" || scope === "server") records.lapsed += 1;
  else records.former.push(...read);
  return true;
}

function formerOf(record: JsonObject, value: JsonValue): FormerApproval | undefined {
  const { server } = record;
  const { name, hash, definition } = isJsonObject(value) ? value : {};
  const origin = originOf(record);
  if (!origin || !isText(server) || !isText(name) || !isText(hash)) return undefined;
  const shown = defined({ definition: isJsonObject(definition) ? definition : undefined });
  return { kind: "former", origin, server, tool: name, definitionHash: hash, ...shown };
}
