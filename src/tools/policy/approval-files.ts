// Decisions on disk: one small private file each, so that two processes never write the same one. No file tells how a server is reached.
import { createHmac } from "node:crypto";
import { isAbsolute, join } from "node:path";
import { messageOf, TenonError } from "../../base/errors.js";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/world.js";
import type { ApprovalStore, KeptApproval, KeptTool, ServerIdentity } from "./approval.js";

type StoreWorld = Pick<World, "files" | "log" | "now" | "randomBytes">;

/** A decision as it is listed for people. */
export interface KeptDecision extends KeptApproval {
  /** What `forget` takes. */
  readonly id: string;
  readonly origin: string;
  readonly server: string;
}

const NAME = /^([0-9a-f]{32})-(?:server|[0-9a-f]{32})\.json$/u;
const KEY_FILE = "key";
const KEY = /^[0-9a-f]{64}$/u;

/**
 * Files are named by an HMAC of the server's identity under a local key: what is on disk does not tell, even to someone
 * who guesses, how a server is started or reached. Definitions are kept with an approval, to show what changed.
 */
export class ApprovalFiles implements ApprovalStore {
  readonly #world: StoreWorld;
  readonly #folder: string | undefined;
  #key: Promise<string> | undefined;

  /** A folder of its own. One that is not a full path would lie in whatever project is open, so it does not count. */
  constructor(world: StoreWorld, folder: string | undefined) {
    this.#world = world;
    this.#folder = folder !== undefined && isAbsolute(folder) ? folder : undefined;
  }

  async load(server: ServerIdentity): Promise<readonly KeptApproval[]> {
    const folder = this.#folder;
    if (folder === undefined) return [];
    const kept: KeptApproval[] = [];
    try {
      const files = (await this.#world.files.list(folder)).filter(({ name }) => NAME.test(name));
      if (files.length === 0) return [];
      const mine = await this.#serverKey(server);
      for (const { name, bytes } of files) {
        if (!name.startsWith(`${mine}-`)) continue;
        const record = await this.#read(name, bytes);
        const isSame = record?.origin === server.origin && record.server === server.name;
        if (record && isSame && (await this.#nameOf(server, record)) === name) kept.push(record);
        else this.#world.log.warn("approval.ignored", { file: join(folder, name) });
      }
    } catch (error) {
      this.#world.log.warn("approval.not_read", { folder, error: messageOf(error) });
    }
    return kept;
  }

  async keep(server: ServerIdentity, approval: Omit<KeptApproval, "decidedAt">): Promise<void> {
    if (this.#folder === undefined) {
      throw new TenonError("config.unreadable", "there is no place to keep the decision: HOME is not set", {
        hint: "Set HOME, or TENON_HOME, to a full path.",
      });
    }
    const decidedAt = new Date(this.#world.now()).toISOString();
    const { decision, scope } = approval;
    const head = { version: 1, decision, scope, origin: server.origin, server: server.name, decidedAt };
    const text = JSON.stringify({ ...head, tools: bounded(approval.tools) });
    await this.#world.files.writeAtomic(join(this.#folder, await this.#nameOf(server, approval)), `${text}\n`);
  }

  /** All decisions, the latest first. */
  async list(): Promise<readonly KeptDecision[]> {
    const all: KeptDecision[] = [];
    for (const { name, bytes } of this.#folder === undefined ? [] : await this.#world.files.list(this.#folder)) {
      if (!NAME.test(name)) continue;
      const record = await this.#read(name, bytes);
      if (record) all.push(record);
    }
    return all.sort((one, other) => (one.decidedAt < other.decidedAt ? 1 : -1));
  }

  /** What was decided is asked about again in the next session. */
  async forget(id: string): Promise<void> {
    if (this.#folder !== undefined && NAME.test(id)) await this.#world.files.remove(join(this.#folder, id));
  }

  async #read(name: string, bytes: number): Promise<KeptDecision | undefined> {
    // Twice the bound of what is written: what is longer was not written here.
    if (this.#folder === undefined || bytes > 2 * LIMITS.approvalMaxFileBytes) return undefined;
    const text = await this.#world.files.readText(join(this.#folder, name)).catch(() => "");
    return decisionOf(name, text);
  }

  async #nameOf(server: ServerIdentity, { scope, tools }: Pick<KeptApproval, "scope" | "tools">): Promise<string> {
    const subject = scope === "server" ? "server" : await this.#digest({ tool: tools[0]?.name ?? "" });
    return `${await this.#serverKey(server)}-${subject}.json`;
  }

  async #serverKey({ origin, name, fingerprint, project }: ServerIdentity): Promise<string> {
    return await this.#digest({ origin, name, fingerprint: fingerprint ?? null, project: project ?? null });
  }

  async #digest(value: JsonValue): Promise<string> {
    this.#key ??= this.#loadKey();
    const key = await this.#key;
    return createHmac("sha256", key).update(canonicalJson(value)).digest("hex").slice(0, 32);
  }

  /** Of several processes that make the key at the same time one succeeds, and all use that one's. */
  async #loadKey(): Promise<string> {
    const { files } = this.#world;
    const path = join(this.#folder ?? "", KEY_FILE);
    const known = await files.readText(path).catch(() => "");
    if (KEY.test(known)) return known;
    const made = Buffer.from(this.#world.randomBytes(32)).toString("hex");
    if (known !== "") await files.writeAtomic(path, made);
    else await files.createNew(path, made);
    const kept = await files.readText(path);
    return KEY.test(kept) ? kept : made;
  }
}

/** Definitions that are too long, and those after the file is full, are left out: then the change is shown as a whole. */
function bounded(tools: readonly KeptTool[]): readonly JsonObject[] {
  let left: number = LIMITS.approvalMaxFileBytes;
  return tools.map(({ name, hash, definition }) => {
    const bytes = definition === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(JSON.stringify(definition));
    if (definition === undefined || bytes > Math.min(left, LIMITS.approvalMaxDefinitionBytes)) return { name, hash };
    left -= bytes;
    return { name, hash, definition };
  });
}

function decisionOf(id: string, text: string): KeptDecision | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { version, decision, scope, origin, server, decidedAt, tools } = parsed.value;
  if (version !== 1 || (decision !== "always" && decision !== "never")) return undefined;
  if ((scope !== "tool" && scope !== "server") || !Array.isArray(tools)) return undefined;
  if (typeof origin !== "string" || typeof server !== "string" || typeof decidedAt !== "string") return undefined;
  const read = tools.map(toolOf).filter((tool) => tool !== undefined);
  return read.length === tools.length ? { id, decision, scope, origin, server, decidedAt, tools: read } : undefined;
}

function toolOf(value: JsonValue): KeptTool | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, hash, definition } = value;
  if (typeof name !== "string" || typeof hash !== "string") return undefined;
  return { name, hash, ...(isJsonObject(definition) ? { definition } : {}) };
}
