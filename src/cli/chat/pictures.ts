// Pictures and sounds for people at a terminal: drawn where the terminal can, and always kept as a file whose path is said.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../base/errors.js";
import { sixelOf } from "./sixel.js";

/** How a terminal takes pictures. */
export type PictureProtocol = "kitty" | "iterm" | "sixel" | "none";

/** The oldest go when there are more. */
const MAX_FILES = 200;
const CHUNK = 4_096;
/** Cells a picture may take, so that it does not push everything away. */
const SHOWN_ROWS = 16;

const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
};

/** By what the terminal says of itself. Inside a multiplexer its sequences would not arrive. */
export function pictureProtocol(env: Readonly<Record<string, string | undefined>>): PictureProtocol {
  const { TERM = "", TERM_PROGRAM = "", TMUX, STY, KITTY_WINDOW_ID, GHOSTTY_RESOURCES_DIR, WT_SESSION } = env;
  if (TMUX || STY || TERM.startsWith("screen") || TERM.startsWith("tmux")) return "none";
  const isKitty = KITTY_WINDOW_ID || TERM === "xterm-kitty" || TERM === "xterm-ghostty" || GHOSTTY_RESOURCES_DIR;
  if (isKitty) return "kitty";
  if (["iTerm.app", "WezTerm", "vscode", "mintty"].includes(TERM_PROGRAM)) return "iterm";
  return /^(?:foot|mlterm|contour|yaft|xterm-sixel)/u.test(TERM) || WT_SESSION ? "sixel" : "none";
}

export class Pictures {
  readonly #folder: string;
  readonly #protocol: PictureProtocol;

  constructor(folder: string, protocol: PictureProtocol) {
    this.#folder = folder;
    this.#protocol = protocol;
  }

  /** Where it was kept, or why it could not be. */
  keep(data: string, mimeType: string): { readonly path: string } | { readonly problem: string } {
    const bytes = Buffer.from(data, "base64");
    const name = `${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}.${ENDINGS[mimeType.toLowerCase()] ?? "bin"}`;
    const path = join(this.#folder, name);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(path, bytes, { mode: 0o600 });
      this.#prune();
      return { path };
    } catch (error) {
      return { problem: messageOf(error) };
    }
  }

  /** The sequence that draws it; nothing where the terminal cannot. */
  draw(data: string, mimeType: string): string | undefined {
    if (!/^[A-Za-z0-9+/]+={0,2}$/u.test(data)) return undefined;
    if (this.#protocol === "kitty" && mimeType === "image/png") return kitty(data);
    if (this.#protocol === "sixel" && mimeType === "image/png") return sixelOf(Buffer.from(data, "base64"));
    const isPicture = ["image/png", "image/jpeg", "image/gif"].includes(mimeType);
    if (this.#protocol !== "iterm" || !isPicture) return undefined;
    return `\u001b]1337;File=inline=1;height=${SHOWN_ROWS};preserveAspectRatio=1:${data}\u0007`;
  }

  #prune(): void {
    const names = readdirSync(this.#folder);
    if (names.length <= MAX_FILES) return;
    const byAge = names
      .map((name) => ({ name, ms: statSync(join(this.#folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
      .sort((a, b) => a.ms - b.ms);
    for (const { name } of byAge.slice(0, names.length - MAX_FILES)) rmSync(join(this.#folder, name), { force: true });
  }
}

function kitty(data: string): string {
  const parts: string[] = [];
  for (let at = 0; at < data.length; at += CHUNK) {
    const isLast = at + CHUNK >= data.length;
    const head = at === 0 ? `a=T,f=100,q=2,r=${SHOWN_ROWS},` : "";
    parts.push(`\u001b_G${head}m=${isLast ? 0 : 1};${data.slice(at, at + CHUNK)}\u001b\\`);
  }
  return parts.join("");
}
