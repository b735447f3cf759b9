// Which words keep which launcher out of the working directory, and what is asked about instead.
import { describe, expect, it } from "vitest";
import type { GuardContext } from "./guard.js";
import { environmentConcerns, guardWords } from "./launchers.js";

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
  ])("of %s name the folder's file, and nothing where it has none", (line, file) => {
    expect(guard(line).concerns).toContainEqual(expect.objectContaining({ file }));
    expect(guard(line, { exists: () => false }).concerns.filter((one) => one.file !== undefined)).toEqual([]);
  });

  it.each(["npm run start", "npm start", "npx .", "npx file:x", "uvx --from . x", "uv --directory sub run x"])(
    "of %s cannot be kept apart from the folder",
    (line) => {
      expect(guard(line).concerns).not.toEqual([]);
    },
  );

  it.each([
    ['require("fs").readFileSync(0)', 0],
    ["require('dep')", 1],
    ['import fs from "node:fs"; await import("/own/x.mjs")', 0],
    ["require(name)", 1],
    ['await import("./x.mjs")', 1],
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
    ["LD_PRELOAD", "x.so", 1],
    ["ANY", "./x", 0],
  ])("%s=%s loads code of the folder %i times", (name, value, count) => {
    expect(environmentConcerns({ [name]: value }, { isWindows: false })).toHaveLength(count);
  });
});
