// Which words keep which launcher out of the working directory, and what is asked about instead.
import { describe, expect, it } from "vitest";
import { fakeWorld } from "../../../testing/index.js";
import { findTogether } from "./folders.js";
import { environmentConcerns, guardWords } from "./launchers.js";
import { type GuardContext, namedFiles } from "./words.js";

const PATHS = {
  empty: "/p/empty",
  shell: "/p/shell",
  nodeFolder: "/p/bin",
  bunfig: "/p/bunfig.toml",
  emptyEnv: "/p/empty.env",
  tsconfig: "/p/tsconfig.json",
  unusedName: ".x.yml",
};

/** Every relative file is there, unless said otherwise. */
function context(extra: Partial<GuardContext> = {}): GuardContext {
  return {
    isWindows: false,
    cwd: "/w",
    paths: PATHS,
    exists: () => true,
    trap: () => undefined,
    uvConfig: undefined,
    ...extra,
  };
}

function guard(line: string, extra: Partial<GuardContext> = {}) {
  const [command = "", ...args] = line.split(" ");
  return guardWords({ command, args }, context(extra));
}

describe("guarded words", () => {
  it.each([
    ["npx -y server .", "--prefix /p/empty --script-shell /p/shell -y server ."],
    ["npx --prefix /own -y server", "--script-shell /p/shell --prefix /own -y server"],
    ["npm exec -y -- server ./data", "--prefix /p/empty --script-shell /p/shell exec -y -- server ./data"],
    ["/usr/bin/pnpm dlx server", "--dir /p/empty dlx server"],
    ["bun x server", "x --cwd /p/empty server"],
    ["uv run --with a server", "run --no-project --isolated --with a server"],
    ["uv run -m mod .", "run --no-project --isolated python -P -m mod ."],
    ["python3 -u -m mod .", "-P -u -m mod ."],
    ["py -3.12 -m mod", "-3.12 -P -m mod"],
    ["/v/bin/python -m mod", "-P -m mod"],
    ["deno run -A npm:server", "run --no-config --no-lock -A npm:server"],
    ["bun run /s.ts .", "--config=/p/bunfig.toml --env-file=/p/empty.env run /s.ts ."],
    ["env A=1 npx -y server", "A=1 npx --prefix /p/empty --script-shell /p/shell -y server"],
    ["timeout -k 1 9 python -m mod", "-k 1 9 python -P -m mod"],
    ["uv --directory /own run server.py", "--directory /own run server.py"],
    ["node /s.js ./data", "/s.js ./data"],
    ["python /s.py .", "/s.py ."],
    ["python -I -m mod", "-I -m mod"],
    ["docker run -i image .", "run -i image ."],
    ["npm --prefix /own run start", "--prefix /own run start"],
    ["my-server . ./data", ". ./data"],
    ["my-server --runtime node", "--runtime node"],
    ["python3 -mPmod", "-P -mPmod"],
    ["python3 -W ignore -m mod", "-P -W ignore -m mod"],
    ["python3.13t -m mod", "-P -m mod"],
    ["graalpy -m mod", "-P -m mod"],
    ["python3 -uP -m mod", "-uP -m mod"],
    ["env -i A=1 uvx server", "-i A=1 UV_NO_CONFIG=1 uvx server"],
    ["taskset 3 npx -y x", "3 npx --prefix /p/empty --script-shell /p/shell -y x"],
    ["time -o /tmp/log python3 -m mod", "-o /tmp/log python3 -P -m mod"],
    ["op run -- npx -y x", "run -- npx --prefix /p/empty --script-shell /p/shell -y x"],
    ["uv --color never run --with a server", "--color never run --no-project --isolated --with a server"],
    ["bash /run.sh -c x", "/run.sh -c x"],
    ["podman run -i image npx -y x", "run -i image npx -y x"],
  ])("of %s keep the folder out and need no question", (line, args) => {
    const guarded = guard(line);
    expect(guarded.args.join(" ")).toBe(args);
    expect(guarded.concerns).toEqual([]);
  });

  it.each([
    ["node server.js", "server.js"],
    ["python3 server.py", "server.py"],
    ["./server", "./server"],
    ["bash run.sh", "run.sh"],
    ["uv run server.py", "server.py"],
    ["uv run --with mcp mcp run server.py:app", "server.py"],
    ["npx -y tsx server.ts", "server.ts"],
    ["deno run -A main.ts", "main.ts"],
    ["java -jar a.jar", "a.jar"],
    ["ruby server.rb", "server.rb"],
    ["python3 -I server.py", "server.py"],
    ["python3 -P server.py", "server.py"],
    ["sh +e run.sh", "run.sh"],
    ["bash -o pipefail run.sh", "run.sh"],
    ["time ./run.sh", "./run.sh"],
  ])("of %s name the folder's file, and nothing where it has none", (line, file) => {
    expect(guard(line).concerns).toContainEqual(expect.objectContaining({ file }));
    expect(guard(line, { exists: () => false }).concerns.filter((one) => one.file !== undefined)).toEqual([]);
  });

  it.each([
    "npm run start",
    "npm start",
    "npm start -- --prefix /own",
    "npx .",
    "npx file:x",
    "npx --node-options=--require=./x.js -y x",
    "uvx --from . x",
    "uv --directory sub run x",
    "uv --unknown value run x",
    "uv sync",
    "env PYTHONPATH=. my-server",
    "env PATH=bin:/usr/bin my-server",
    "env PATH=/w/bin my-server",
    "env NODE_OPTIONS=--experimental-loader=./x.mjs my-server",
    "env -S my-server",
    "env -iS my-server",
    "env -i pnpm dlx x",
    "sudo uvx x",
    "fish --command=./run.sh",
    "bash --unknown run.sh",
    "bash -oe pipefail run.sh",
    "some-wrapper npx -y x",
    "some-wrapper -- python3 -m mod",
    "taskset 1 time 2 taskset 3 time 4 npx x",
  ])("of %s cannot be kept apart from the folder", (line) => {
    expect(guard(line, { exists: () => false }).concerns).not.toEqual([]);
  });

  it.each([
    ["bash", "-euo", "pipefail", "-c"],
    ["bash", "-cl"],
    ["sh", "-ce"],
    ["sh", "-c", "--"],
    ["sh", "-c", "-e"],
    ["fish", "--command"],
  ])("of a shell with options are found behind them: %s %s %s %s", (command, ...options) => {
    const given = options.filter((word) => word !== undefined);
    const text = (one: string) => guardWords({ command, args: [...given, one] }, context({ exists: () => false }));
    expect(text("python3 -m mod").args).toEqual([...given, "python3 -P -m mod"]);
    expect(text("a; b").concerns).toHaveLength(1);
    expect(text("PYTHONPATH=. x").concerns).toHaveLength(1);
    expect(text("cd /w/sub && x").concerns).toHaveLength(1);
  });

  it("of npx -c are checked as a shell's text", () => {
    const call = (text: string) => guardWords({ command: "npx", args: ["-p", "x", "-c", text] }, context()).concerns;
    expect(call("x --flag")).toEqual([]);
    for (const text of ["python3 -m mod", "a; b", "./run.sh"]) expect(call(text), text).not.toEqual([]);
  });

  it("of hostile length are read in time", () => {
    const args = Array.from({ length: 20_000 }, () => "time");
    expect(guardWords({ command: "time", args }, context()).concerns).not.toEqual([]);
    expect(namedFiles([args.map((word) => `cd ${word}`).join(" ; ")]).length).toBeLessThanOrEqual(200);
  });

  it("name every file that a project's approval covers", () => {
    expect(namedFiles(["-m", "a.b", "--import=./hook.js", "-r", "./x.cjs", "data.db"])).toEqual(
      expect.arrayContaining(["a/b.py", "a/b/__main__.py", "./hook.js", "./x.cjs"]),
    );
    expect(namedFiles(["data.db"])).toEqual([]);
    expect(namedFiles(["true && cd sub; python3 run.db"])).toEqual(expect.arrayContaining(["run.db", "sub/run.db"]));
  });

  it.each([
    ['require("fs").readFileSync(0)', 0],
    ["require('dep')", 1],
    ['import fs from "node:fs"; await import("/own/x.mjs")', 0],
    ["require(name)", 1],
    ['await import("../../stdio/launchers/x.mjs")', 1],
    ["process.stdin.resume()", 0],
  ])("of code %s are asked about %i times", (code, count) => {
    expect(guardWords({ command: "node", args: ["-e", code] }, context()).concerns).toHaveLength(count);
  });

  it("of shell text that is one plain command are guarded inside it, and any other text is asked about", () => {
    const shell = (text: string, ...more: string[]) =>
      guardWords({ command: "sh", args: ["-c", text, ...more] }, context({ exists: () => false }));
    expect(shell("exec npx -y 'a b'").args).toEqual([
      "-c",
      "exec npx --prefix /p/empty --script-shell /p/shell -y 'a b'",
    ]);
    expect(shell("my-server --flag")).toMatchObject({ args: ["-c", "my-server --flag"], concerns: [] });
    expect(shell('"$0" "$@"; true', "python", "-m", "m").args.slice(2)).toEqual(["python", "-P", "-m", "m"]);
    expect(shell("cd /own && npm start").concerns).toEqual([]);
    for (const text of ["a; b", "a && b", "$(x)", "a | b", ". ./x", "cd sub && x"]) {
      expect(shell(text).concerns, text).toHaveLength(1);
    }
  });

  it("on Windows go through cmd /c, and what cannot be kept out there is asked about where the folder has it", () => {
    const found = { isWindows: true, trap: () => "C:\\w\\node_modules\\.bin" };
    expect(guard("cmd /c npx -y server", { isWindows: true })).toMatchObject({
      args: ["/c", "npx", "--prefix", "/p/empty", "-y", "server"],
      concerns: [],
    });
    expect(guard("npx.cmd -y server", found).concerns).toHaveLength(1);
    expect(guard("bunx server", found).concerns).toHaveLength(1);
  });

  it("keep the user's own configuration of uv, and then ask about a version file of the folder", () => {
    expect(guard("uvx server").env).toEqual({ UV_NO_CONFIG: "1" });
    const own = { uvConfig: "/home/me/.config/uv/uv.toml" };
    expect(guard("uvx server", own).env).toEqual({ UV_CONFIG_FILE: own.uvConfig });
    expect(guard("uvx server", { ...own, trap: () => "/w/.python-version" }).concerns).toHaveLength(1);
  });
});

describe("variables of an entry", () => {
  it.each([
    ["PYTHONPATH", "/a:lib", 1],
    ["PYTHONPATH", "/a:/b", 0],
    ["NODE_OPTIONS", "--max-old-space-size=9 -r ./x.js", 1],
    ["NODE_OPTIONS", "--import=/x.mjs", 0],
    ["NODE_OPTIONS", "--experimental-loader ./x.mjs", 1],
    ["LD_PRELOAD", "x.so", 1],
    ["ANY", "./x", 0],
  ])("%s=%s loads code of the folder %i times", (name, value, count) => {
    expect(environmentConcerns({ [name]: value }, { isWindows: false })).toHaveLength(count);
  });
});

describe("look-ups of several launches", () => {
  it("share what is being looked up, also where that fails, and nothing after that", async () => {
    const asked: string[] = [];
    const { files } = fakeWorld();
    const counted = Object.assign(Object.create(files), {
      find: async (path: string) => {
        asked.push(path);
        if (path === "/none") throw new Error("no answer of the disk");
        return undefined;
      },
    });
    const find = (path: string) => findTogether({ files: counted }, path);
    expect(await Promise.all([find("/a"), find("/a"), find("/b")])).toEqual([undefined, undefined, undefined]);
    const failing = await Promise.allSettled([find("/none"), find("/none")]);
    expect(failing.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await find("/a");
    expect(asked).toEqual(["/a", "/b", "/none", "/a"]);
  });
});
