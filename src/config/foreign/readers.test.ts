// The readers against any text: they never throw, and what is valid in a file is never lost to what is not.
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, it } from "vitest";
import { IMPORT_NAMES, type ImportName } from "../layers/entry.js";
import * as schemas from "../layers/schema.js";
import { DIALECTS } from "./clients.js";
import { type ForeignRead, foreignOf } from "./read.js";

const SECTIONS: Readonly<Record<ImportName, string>> = {
  "claude-desktop": "mcpServers",
  "claude-code": "mcpServers",
  cursor: "mcpServers",
  vscode: "servers",
  zed: "context_servers",
  windsurf: "mcpServers",
  codex: "mcp_servers",
  opencode: "mcp",
  magenta: "mcpServers",
  "gemini-cli": "mcpServers",
  cline: "mcpServers",
  junie: "mcpServers",
  goose: "extensions",
};

const FIXTURES: readonly (readonly [ImportName, string])[] = [
  ["claude-desktop", "claude_desktop_config.json"],
  ["claude-code", "claude.json"],
  ["cursor", "cursor.json"],
  ["vscode", "vscode.json"],
  ["zed", "zed-settings.json"],
  ["windsurf", "windsurf.json"],
  ["codex", "codex.toml"],
  ["opencode", "opencode.jsonc"],
  ["magenta", "magenta-options.json"],
  ["gemini-cli", "gemini-settings.json"],
  ["goose", "goose.yaml"],
];

const clients = fc.constantFrom(...IMPORT_NAMES);

async function read(text: string, client: ImportName, layer: "user" | "project" = "user"): Promise<ForeignRead> {
  const file = { client, path: "/home/me/file", owner: layer, layer };
  return await foreignOf(text, file, { world: { platform: "linux" }, project: ["/project"] }, schemas);
}

/** As its client writes a server that is started with `npx` and one argument. */
function plain(client: ImportName, argument: string): unknown {
  if (client === "goose") return { type: "stdio", cmd: "npx", args: [argument], enabled: true };
  if (client === "opencode") return { type: "local", command: ["npx", argument] };
  return { command: "npx", args: [argument] };
}

describe("every reader", () => {
  it("takes any text without throwing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), clients, async (text, client) => {
        await read(text, client);
      }),
      { numRuns: 1_000 },
    );
  });

  it("takes a real file cut off or changed anywhere without throwing, and only ever gives entries it was given", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FIXTURES),
        fc.nat(),
        fc.string({ maxLength: 3 }),
        async (fixture, at, put) => {
          const [client, name] = fixture;
          const whole = readFileSync(new URL(`../../../test/fixtures/foreign/${name}`, import.meta.url), "utf8");
          const place = at % whole.length;
          await read(whole.slice(0, place), client);
          await read(whole.slice(0, place) + put + whole.slice(place), client, "project");
        },
      ),
      { numRuns: 500 },
    );
  });

  it("keeps every valid entry, whatever stands beside it", async () => {
    const names = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/u);
    const words = fc.stringMatching(/^[a-z0-9@/.-]{1,12}$/u);
    const good = fc.dictionary(names, words, { minKeys: 1, maxKeys: 5 });
    const bad = fc.dictionary(
      names.map((name) => `bad ${name}`),
      fc.oneof(fc.jsonValue(), fc.object()),
      { maxKeys: 3 },
    );
    await fc.assert(
      fc.asyncProperty(clients, good, bad, async (client, valid, rest) => {
        const entries = Object.entries(valid).map(([name, word]) => [name, plain(client, word)]);
        const isToml = DIALECTS[client].format === "toml";
        const content = {
          [SECTIONS[client]]: Object.fromEntries(isToml ? entries : [...entries, ...Object.entries(rest)]),
        };
        const { servers } = await read(isToml ? stringify(content) : JSON.stringify(content), client);
        const kept = new Map(servers.map(({ name, server }) => [name, server?.definition.written]));
        for (const [name, word] of Object.entries(valid)) {
          expect(kept.get(name)).toEqual({ command: "npx", args: [word] });
        }
      }),
      { numRuns: 500 },
    );
  });
});
