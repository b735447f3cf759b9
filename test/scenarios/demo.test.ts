// `npm run demo` with nobody at the terminal: it plays its script, exits 0, and asks no network for anything.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const ROOT = join(import.meta.dirname, "../..");

/** Loaded into every Node process the demo starts: writes down who it is, and every connection that is not a local pipe. */
const WATCH = `const net = require("node:net");
const note = (line) => require("node:fs").appendFileSync(process.env.TENON_DEMO_WATCH, line + "\\n");
note("started " + process.argv.slice(1).join(" "));
const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args;
  if (typeof options !== "object" || options.path === undefined) note("connect " + JSON.stringify(options));
  return connect.apply(this, args);
};
`;

function watched(folder: string): { env: Record<string, string>; notes: () => string[] } {
  const log = join(folder, "watch.log");
  writeFileSync(join(folder, "watch.cjs"), WATCH);
  writeFileSync(log, "");
  const env = cleanEnv(join(folder, "home"), {
    NODE_OPTIONS: `--require ${join(folder, "watch.cjs")}`,
    TENON_DEMO_WATCH: log,
  });
  return { env, notes: () => readFileSync(log, "utf8").trim().split("\n") };
}

scenario(["S1"], "npm run demo without a terminal answers its script and makes no request to any network", async () => {
  using folder = new TemporaryFolder();
  const { env, notes } = watched(folder.path);
  const { code, stdout, stderr } = await runCommand("npm", ["run", "demo"], { cwd: ROOT, env });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/All \d+ prompts were answered/);
  expect(
    notes()
      .filter((line) => line.startsWith("started"))
      .join("\n"),
  ).toContain("dist/cli/main.js chat");
  expect(notes().filter((line) => line.startsWith("connect"))).toEqual([]);

  const program = 'require("node:net").connect(1, "127.0.0.1").on("error", () => {})';
  await runCommand(process.execPath, ["-e", program], { cwd: folder.path, env });
  expect(
    notes().filter((line) => line.startsWith("connect")),
    "the watch itself sees a connection",
  ).toHaveLength(1);
});
