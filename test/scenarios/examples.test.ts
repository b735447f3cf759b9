// The examples as people run them: each in a folder and a home of its own, and each checks itself.
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { blocksIn, ROOT } from "../docs/blocks.js";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** At the same time: most of their time is that of processes that start. */
async function run(...names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map(async (name) => {
      using folder = new TemporaryFolder();
      const cwd = join(folder.path, "project");
      mkdirSync(cwd);
      const env = cleanEnv(join(folder.path, "home"));
      const ran = await runCommand(agentNode(), [join(ROOT, "examples", `${name}.mjs`)], { cwd, env });
      expect(ran.code, `${name}\n${ran.stdout}\n${ran.stderr}`).toBe(0);
    }),
  );
}

scenario(["V450", "V461", "V451"], "examples: ten lines, servers in the options, servers of one session", async () => {
  await run("ten-lines", "engine-options", "servers-per-session");
});

scenario(["V462", "V452", "V453"], "examples: a server by hand, filtered tools, tools under other names", async () => {
  await run("by-hand", "filter", "transform");
});

scenario(["V463", "V464", "V465"], "examples: provider options, tracking by server, reconnection", async () => {
  await run("provider-options", "tracking", "reconnection");
});

scenario(
  ["V466", "V454", "V455", "V456"],
  "examples: authentication, approval, a model and a tool of one's own",
  async () => {
    await run("authentication", "approval", "own-model", "own-tool");
  },
);

scenario(["V457", "V458"], "examples: inside Hono, and inside an application on the AI SDK", async () => {
  await run("hono-app", "ai-sdk-app");
});

scenario(["V459", "V460"], "examples: an ACP client, and a gateway with two clients", async () => {
  await run("acp-client", "gateway-two-clients");
});

scenario(
  ["V467"],
  "every example is run here and listed in examples/README.md, and uses only what is published",
  async () => {
    const files = readdirSync(join(ROOT, "examples")).filter((file) => file.endsWith(".mjs"));
    const [own, readme] = [import.meta.filename, join(ROOT, "examples/README.md")].map((path) =>
      readFileSync(path, "utf8"),
    );
    for (const file of files) {
      expect(readme, file).toContain(`[${file}](${file})`);
      if (file !== "notes-server.mjs") expect(own, file).toContain(`"${file.replace(".mjs", "")}"`);
      const imported = [...readFileSync(join(ROOT, "examples", file), "utf8").matchAll(/ from "([^"]+)"/gu)];
      const outside = imported.map(([, name = ""]) => name).filter((name) => name.startsWith("."));
      expect(outside, file).toEqual([]);
    }
  },
);

/** Code in the second column of the tables of a page. */
function linesIn(page: string): readonly string[] {
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("|---"));
  const cells = rows.map((row) => row.slice(row.lastIndexOf(" | ", row.length - 2)));
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/gu)].map(([, code = ""]) => code));
}

scenario(
  ["V470"],
  "docs/coming-from: every line of Tenon in a table is part of what the page's programs and commands run",
  async () => {
    const pages = readdirSync(join(ROOT, "docs/coming-from"));
    expect(pages.toSorted()).toEqual(["aidk.md", "magenta-nvim.md", "openclaw.md", "tsagent.md"]);
    for (const page of pages) {
      const path = `docs/coming-from/${page}`;
      const lines = linesIn(readFileSync(join(ROOT, path), "utf8"));
      expect(lines.length, page).toBeGreaterThan(12);
      const run = blocksIn(path).filter(({ language }) => language === "ts" || language === "sh");
      const missing = lines.filter((line) => !run.some(({ text }) => text.includes(line)));
      expect(missing, page).toEqual([]);
      // Those without it are only compiled by the scenario of the documents.
      expect(run.every(({ language, text }) => language === "sh" || text.includes("createRuntime"))).toBe(true);
    }
  },
);
