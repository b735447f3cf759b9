// The program of docs/how-to/extra-tools.md, with the built product: its tools in a session that an editor has open, and gone with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { blocksIn, ROOT } from "../docs/blocks.js";
import { cleanEnv, startTenon, TemporaryFolder } from "./agent.js";
import { agentNode, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

/** As its reader has it: written down, with `tenon` installed. */
function writtenProgram(folder: string): string {
  const [block] = blocksIn("docs/how-to/extra-tools.md").filter(({ language }) => language === "ts");
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(ROOT, join(folder, "node_modules/tenon"));
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  const path = join(folder, "warehouse.ts");
  writeFileSync(path, block?.text ?? "");
  return path;
}

scenario(
  ["G641"],
  "a program of a few lines adds two tools to a session that an editor has open; the model calls them; it leaves, and they are gone with a reason",
  async () => {
    using home = new TemporaryFolder();
    using project = new TemporaryFolder();
    const env = cleanEnv(home.path);
    const editor = await startTenon(home, { words: ["--gateway"] });
    await editor.initialize();
    const { sessionId } = await editor.newSession({ cwd: project.path });
    // session/new is answered before the gateway runs; an answered prompt says that it has the session.
    await editor.prompt(sessionId, "hello");
    const words = ["--import", join(ROOT, "node_modules/tsx/dist/loader.mjs"), writtenProgram(project.path)];
    const program = spawn(agentNode(), words, { cwd: project.path, env, stdio: ["ignore", "pipe", "inherit"] });
    const [said] = await once(program.stdout, "data");
    expect(String(said)).toBe("mcp__program__stock mcp__program__order\n");
    await editor.prompt(sessionId, "please count the article bolts in stock");
    expect(editor.text(sessionId)).toContain("12 of bolts");
    await editor.prompt(sessionId, "please order the article nuts");
    expect(editor.text(sessionId)).toContain("ordered nuts");
    const [question] = editor.permissionRequests;
    expect(JSON.stringify(question)).toContain('The program \\"warehouse\\"');
    program.kill("SIGINT");
    await once(program, "exit");
    await editor.prompt(sessionId, "/why stock");
    expect(editor.text(sessionId)).toContain(
      'The tools of "program" are gone: the program "warehouse" left this session.',
    );
    const example = spawn(agentNode(), [join(ROOT, "examples/extra-tools/main.mjs")], {
      cwd: project.path,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [told] = await once(example.stdout, "data");
    expect(String(told)).toBe(`session ${sessionId}: mcp__notes__note, mcp__notes__timer\n`);
    await editor.prompt(sessionId, 'please keep a note with the text "milk"');
    expect(editor.text(sessionId)).toContain("milk");
    expect(JSON.stringify(editor.updates(sessionId))).toContain("notes / Keep a note");
    example.kill("SIGINT");
    expect(await once(example, "exit")).toEqual([0, null]);
    await editor.prompt(sessionId, "hello again");
    expect(await editor.end()).toMatchObject({ code: 0 });
    await runCommand(agentNode(), [TENON, "gateway", "stop", "--drain", "0"], { cwd: project.path, env });
  },
);
