// Names models call tools by: valid for every provider, readable, and unique within a session.
import { createHash } from "node:crypto";
import { withoutFinal } from "../base/text/ends.js";
import type { ToolId } from "./tool.js";

const PREFIX = "mcp__";
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const VALID = /^mcp__[A-Za-z0-9_-]{1,59}$/;
/** Names of Tenon's own tools about tools, and of all other sources, begin otherwise. */
const PLAIN = /^(?!mcp__|tenon_)[A-Za-z0-9_-]{1,64}$/u;

/**
 * The names of one session. A tool keeps the name it was given first, whatever connects or ends later; of two tools that
 * would have the same name, the later one has a hash of server and tool at its end.
 */
export class ToolNames {
  /** By name, the server and tool it was given to. Entries are never deleted. */
  readonly #owners = new Map<string, string>();
  /** By server and tool, the name that calls in the session's journal have. */
  #kept: Map<string, string> | undefined;
  /** Servers whose names have no readable part, in the order they came. */
  readonly #unreadable: string[] = [];
  /** Whether Tenon's own tools may have the name. */
  readonly #isReserved: (name: string) => boolean;

  constructor(isReserved: (name: string) => boolean = () => false) {
    this.#isReserved = isReserved;
  }

  /** A name from the session's journal, which the model may call again. */
  keep(name: string, server: string, tool: string): void {
    const pair = pairOf(server, tool);
    if (!VALID.test(name) || this.#owners.has(name) || this.#kept?.has(pair)) return;
    this.#owners.set(name, pair);
    this.#kept ??= new Map();
    this.#kept.set(pair, name);
  }

  /** The tool's own name, for tools of the program around Tenon; undefined where it is not valid, or another's. */
  plain(server: string, tool: string): ToolId | undefined {
    const pair = pairOf(server, tool);
    const owner = this.#owners.get(tool);
    if (!PLAIN.test(tool) || this.#isReserved(tool) || (owner !== undefined && owner !== pair)) return undefined;
    this.#owners.set(tool, pair);
    return toolId(tool);
  }

  of(server: string, tool: string): ToolId {
    const pair = pairOf(server, tool);
    const kept = this.#kept?.get(pair);
    if (kept !== undefined) return toolId(kept);
    const readable = this.#readable(server);
    for (let attempt = 0; ; attempt++) {
      const name = compose(readable, tool, attempt === 0 ? undefined : hashOf(attempt === 1 ? pair : pair + attempt));
      const owner = this.#owners.get(name);
      if (owner === undefined) this.#owners.set(name, pair);
      if (owner === undefined || owner === pair) return toolId(name);
    }
  }

  #readable(server: string): string {
    if (slug(server) !== "") return server;
    const known = this.#unreadable.indexOf(server);
    const number = known === -1 ? this.#unreadable.push(server) : known + 1;
    return number === 1 ? UNREADABLE_SERVER : `${UNREADABLE_SERVER}${number}`;
  }
}

/** `mcp__server__tool`, as it is while no other tool has the name. */
export function mcpToolId(server: string, tool: string): ToolId {
  return toolId(compose(slug(server) === "" ? UNREADABLE_SERVER : server, tool));
}

/**
 * Depends on nothing but server and tool, so it means the same tool in every session: the memory of tools is written with
 * it. Names in journals followed this rule before `ToolNames`.
 */
export function toolKey(server: string, tool: string): string {
  const isClean = (part: string) => /^(?!_)(?!.*__)[A-Za-z0-9_-]+(?<!_)$/.test(part);
  const short = `${PREFIX}${server}__${tool}`;
  if (short.length <= MAX_LENGTH && isClean(server) && isClean(tool)) return short;
  const parts = [server, tool].map((part) => part.replaceAll(/[^A-Za-z0-9_-]/gu, "_"));
  return `${`${PREFIX}${parts.join("__")}`.slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hashOf(pairOf(server, tool))}`;
}

/** For tools of Tenon itself, which have their own names: no other source can reach them, all of theirs start `mcp__`. */
export function plainToolId(name: string): ToolId {
  if (!/^(?!mcp__)[A-Za-z0-9_-]{1,64}$/u.test(name)) throw new Error(`"${name}" is no name for a built-in tool`);
  return toolId(name);
}

const UNREADABLE_SERVER = "server";
const UNREADABLE_TOOL = "tool";

/** The server's part is shortened where the whole is too long; the tool's own name only where it alone does not fit. */
function compose(server: string, tool: string, hash?: string): string {
  const own = cleanTool(tool);
  const end = hash === undefined ? "" : `_${hash}`;
  const room = MAX_LENGTH - PREFIX.length - own.length - end.length;
  if (room > 2) return `${PREFIX}${serverPart(server, room - 2)}__${own}${end}`;
  // With `__` in it, a name without a server could pass for a tool of another server.
  if (room >= 0 && !own.includes("__")) return `${PREFIX}${own}${end}`;
  const cutEnd = `_${hash ?? hashOf(pairOf(server, tool))}`;
  return `${PREFIX}${own.replaceAll(/_{2,}/gu, "_").slice(0, MAX_LENGTH - PREFIX.length - cutEnd.length)}${cutEnd}`;
}

/** Segments of a path that say nothing about which server it is. */
const GENERIC = /^(?:mcp|servers?|mcp[_-]servers?|api|sse|https?|src|dist|build|bin|main|index|latest)$/i;

/** The end of a long name tells servers apart: `github.com/org/servers/filesystem` becomes `filesystem`. */
function serverPart(server: string, room: number): string {
  const whole = slug(server);
  if (whole.length <= room) return whole;
  const segments = server.split(/[/\\]/).flatMap((segment) => slug(segment) || []);
  const telling = segments.findLastIndex((segment) => !GENERIC.test(segment));
  let short = slug(segments.slice(Math.max(0, telling)).join("_"));
  while (short.length > room && /[_-]/.test(short)) short = short.replace(/^[^_-]*[_-]+/, "");
  return short.slice(-room);
}

/** No `__` and no `_` at an end, so that a reader sees where the server's part ends. */
export function slug(server: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(server) && !/__|[_-]$/.test(server)) return server;
  const plain = latin(server).replaceAll(/[^A-Za-z0-9-]+/g, "_");
  return withoutFinal(plain, "_-").replace(/^[_-]+/, "");
}

function cleanTool(tool: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(tool)) return tool;
  const clean = latin(tool).replaceAll(/[^A-Za-z0-9_-]+/g, "_");
  return /[A-Za-z0-9]/.test(clean) ? clean : UNREADABLE_TOOL;
}

/**
 * Letters that Unicode does not decompose to Latin ones. A table of all scripts would be half a megabyte; servers in
 * other scripts are numbered.
 */
const LETTERS: ReadonlyMap<string, string> = new Map(
  (
    "ß ss æ ae œ oe ø o đ d ð d þ th ł l ı i ħ h ŋ ng " +
    "а a б b в v г g ґ g д d ђ dj е e є ye ж zh з z и i і i ј j к k л l љ lj м m н n њ nj о o п p р r с s т t ћ c у u " +
    "ф f х kh ц ts ч ch џ dz ш sh щ shch ъ _ ы y ь _ э e ю yu я ya " +
    "α a β b γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o"
  )
    .split(" ")
    .flatMap((letter, at, all) => (at % 2 === 0 ? [[letter, (all[at + 1] ?? "").replace("_", "")] as const] : [])),
);

function latin(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  const plain = text.normalize("NFKD").replaceAll(/\p{M}/gu, "");
  return Array.from(plain, (letter) => {
    const small = letter.toLowerCase();
    const written = LETTERS.get(small);
    if (written === undefined) return letter;
    return small === letter ? written : written.charAt(0).toUpperCase() + written.slice(1);
  }).join("");
}

function pairOf(server: string, tool: string): string {
  return `${server}\0${tool}`;
}

function hashOf(text: string): string {
  const digest = createHash("sha256").update(text).digest();
  const bits = Array.from(digest.subarray(0, 5), (byte) => byte.toString(2).padStart(8, "0")).join("");
  return Array.from(
    { length: HASH_LENGTH },
    (_, at) => BASE32[Number.parseInt(bits.slice(5 * at, 5 * at + 5), 2)],
  ).join("");
}

function toolId(text: string): ToolId {
  return text as ToolId;
}
