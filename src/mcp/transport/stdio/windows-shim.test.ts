// Commands on Windows: found as the system finds them, and quoted so that the program gets exactly what was meant.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SpawnRequest } from "../../../base/ports/world.js";
import { findCommand, quoteForCmd, viaShim } from "./launch.js";

function request(command: string, args: readonly string[] = []): SpawnRequest {
  return { command, args, env: { Path: 'C:\\bin;"D:\\my tools"', PathExt: ".EXE;.CMD" }, cwd: "C:\\s" };
}

const has =
  (...files: string[]) =>
  (path: string) =>
    files.includes(path);

describe("finding", () => {
  test("goes through the folders of PATH, and the extensions in each", () => {
    expect(findCommand(request("npx"), has("D:\\my tools\\npx.exe", "C:\\bin\\npx.cmd"))).toBe("C:\\bin\\npx.cmd");
    expect(findCommand(request("npx"), has("D:\\my tools\\npx.exe"))).toBe("D:\\my tools\\npx.exe");
    expect(findCommand(request("npx"), has())).toBeUndefined();
  });

  test("never takes the shell script that lies beside the shim", () => {
    expect(findCommand(request("npx"), has("C:\\bin\\npx", "C:\\bin\\npx.cmd"))).toBe("C:\\bin\\npx.cmd");
  });

  test("takes a name with an extension as it is, and a path without searching", () => {
    expect(findCommand(request("tool.exe"), has("C:\\bin\\tool.exe"))).toBe("C:\\bin\\tool.exe");
    expect(findCommand(request("C:\\x\\tool"), has("C:\\x\\tool.cmd"))).toBe("C:\\x\\tool.cmd");
  });
});

describe("starting", () => {
  test("a program is started itself", () => {
    expect(viaShim(request("node", ["a b"]), has("C:\\bin\\node.exe"))).toMatchObject({
      command: "C:\\bin\\node.exe",
      args: ["a b"],
    });
  });

  test("a batch file goes through the command interpreter, with every argument escaped for it", () => {
    const started = viaShim(request("npx", ["-y", "my server", 'say "hi"', "100%", "a&b"]), has("C:\\bin\\npx.cmd"));
    expect(started).toMatchObject({ command: "cmd.exe", isVerbatim: true });
    expect(started.args).toEqual([
      "/d",
      "/s",
      "/c",
      '"C:\\bin\\npx.cmd ^"-y^" ^"my^ server^" ^"say^ \\^"hi\\^"^" ^"100^%^" ^"a^&b^""',
    ]);
  });

  test("a shim of npm's needs a second layer", () => {
    const file = "C:\\p\\node_modules\\.bin\\tool.cmd";
    expect(viaShim(request(file, ["a"]), has(file)).args.at(-1)).toBe(`"${file} ^^^"a^^^""`);
  });

  test("a PowerShell script goes to PowerShell, without the user's profile", () => {
    expect(viaShim(request("C:\\x\\tool.ps1", ["a"]), has("C:\\x\\tool.ps1"))).toMatchObject({
      command: "powershell.exe",
      args: ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", "C:\\x\\tool.ps1", "a"],
    });
  });

  test("what is not found is left to the system to complain about", () => {
    expect(viaShim(request("npx"), has())).toEqual(request("npx"));
  });
});

/** What the interpreter makes of it: carets go, and an unescaped quote would switch its quoting on. */
function afterCmd(text: string): string {
  return text.replace(/\^([\s\S])/g, "$1");
}

/** How a program's runtime reads its command line: backslashes count only before a quote. */
function argumentOf(text: string): string {
  const inner = /^"([\s\S]*)"$/.exec(text)?.[1] ?? "";
  return inner
    .replace(/(\\*)"/g, (_, slashes: string) => `${"\\".repeat((slashes.length - 1) / 2)}"`)
    .replace(/(\\+)$/, (slashes) => "\\".repeat(slashes.length / 2));
}

test("any argument arrives as it was, and nothing in it is left for the interpreter to act upon", () => {
  const nasty = fc.string({
    unit: fc.constantFrom("a", " ", '"', "\\", "%", "^", "&", "|", "<", ">", "(", ")", "!", "é"),
    maxLength: 12,
  });
  fc.assert(
    fc.property(nasty, fc.boolean(), (word, isDouble) => {
      const quoted = quoteForCmd(word, isDouble);
      expect(quoted.replace(/\^[\s\S]/g, "")).not.toMatch(/[()%!^"<>&| ]/);
      expect(argumentOf(isDouble ? afterCmd(afterCmd(quoted)) : afterCmd(quoted))).toBe(word);
    }),
  );
});
