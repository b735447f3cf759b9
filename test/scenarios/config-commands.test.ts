// `tenon mcp`: from an empty home to a server that works, and everything one does with it.
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { VERSION } from "../../src/base/version.js";
import { ConfigBench } from "./config-bench.js";
import { FILESYSTEM, program } from "./real-server.js";
import { scenario } from "./scenario.js";

scenario(
  ["G11", "G6"],
  "from an empty home: mcp add, then chat -p lists the files with the offline model",
  async () => {
    await using bench = await ConfigBench.open();
    bench.put("project/notes-of-today.txt", "hello");
    const added = await bench.tenon(["mcp", "add", "fs", "--", process.execPath, program(FILESYSTEM), "."]);
    expect(added).toMatchObject({ code: 0, stderr: "" });
    const { code, stdout } = await bench.headless("list the files here");
    expect(stdout).toContain("notes-of-today.txt");
    expect(code).toBe(0);
  },
);

scenario(
  ["G11"],
  "a file that mcp add begins names its JSON schema, which is in the package, for editors",
  async () => {
    await using bench = await ConfigBench.open();
    const file = async (...words: string[]): Promise<{ readonly file: string }> =>
      JSON.parse((await bench.tenon(["mcp", ...words, "--json"])).stdout);
    const { file: created } = await file("add", "first", "https://example.com/mcp");
    const written: { readonly $schema: string } = JSON.parse(readFileSync(created, "utf8"));
    const path = "schema/config.schema.json";
    expect(written.$schema).toBe(`https://unpkg.com/tenon@${VERSION}/${path}`);
    expect(existsSync(join(import.meta.dirname, "..", "..", path))).toBe(true);
    const other = bench.put("home/other.json", '{"model": "offline/tenon"}');
    writeFileSync(created, readFileSync(other));
    await file("add", "second", "https://example.com/mcp");
    expect(readFileSync(created, "utf8")).not.toContain("$schema");
    expect(await bench.tenon(["mcp", "list", "--no-connect"])).toMatchObject({ code: 0, stderr: "" });
  },
);

scenario(["G11"], "chat -p waits for a server that npx has to download first, and says so", async () => {
  await using bench = await ConfigBench.open();
  const { command, args } = bench.greeter();
  // Longer than any first turn waits for servers.
  chmodSync(
    bench.put("bin/npx", '#!/bin/sh\nsleep 7\nif [ "$1" = --prefix ]; then shift 4; fi\nshift\nexec "$@"\n'),
    0o755,
  );
  const env = { PATH: `${bench.root}/bin:${process.env["PATH"] ?? ""}` };
  expect((await bench.tenon(["mcp", "add", "greeter", "--", "npx", "-y", command, ...args])).code).toBe(0);
  const { code, stdout, stderr } = await bench.headless("greet me", env);
  expect(stdout).toContain("good morning");
  expect(stderr).toContain("Waiting for greeter");
  expect(code).toBe(0);
});

scenario(
  ["G6", "G2"],
  "servers are added, shown, disabled, enabled and removed, for people and for programs",
  async () => {
    await using bench = await ConfigBench.open();
    const { command, args } = bench.greeter();
    const json = async (...words: string[]): Promise<unknown> => {
      const { code, stdout } = await bench.tenon(["mcp", ...words, "--json"]);
      expect(code).toBe(0);
      return JSON.parse(stdout);
    };
    expect(await json("list")).toMatchObject({ servers: [], problems: [] });
    const add = ["mcp", "add", "greeter", "--json", "--env", "API_TOKEN=secret-value", "--", command, ...args];
    const added = await bench.tenon(add);
    expect(JSON.parse(added.stdout)).toMatchObject({ change: "added", isNewFile: true });
    expect((await bench.tenon(["mcp", "add", "web", "https://example.com/mcp", "--header", "X-Key: k3y"])).code).toBe(
      0,
    );
    expect(await json("get", "web")).toMatchObject({
      servers: [
        { status: "ready", entry: { type: "http", url: "https://example.com/mcp", headers: { "X-Key": "********" } } },
      ],
    });
    const file = join(bench.home, "config.json");
    expect(readFileSync(file, "utf8")).toContain("secret-value");
    for (const words of [["list"], ["get", "greeter"], ["list", "--json"], ["get", "greeter", "--json"]]) {
      expect((await bench.tenon(["mcp", ...words])).stdout).not.toContain("secret-value");
    }
    // A comment of the person's survives every edit.
    writeFileSync(file, `// mine\n${readFileSync(file, "utf8")}`);
    expect(await json("disable", "web")).toMatchObject({ change: "disabled" });
    expect(await json("disable", "web")).toMatchObject({ change: "unchanged" });
    expect(await json("get", "web")).toMatchObject({ servers: [{ status: "disabled" }] });
    expect(await json("enable", "web")).toMatchObject({ change: "enabled" });
    expect(await json("remove", "web")).toMatchObject({ change: "removed" });
    expect(readFileSync(file, "utf8")).toMatch(/^\/\/ mine\n/u);
    expect((await bench.headless("greet me")).stdout).toContain("good morning");
  },
);

scenario(["G6"], "wrong words exit 2, what configuration does not allow exits 3, and nothing is written", async () => {
  await using bench = await ConfigBench.open();
  const usage = [
    [],
    ["frobnicate"],
    ["list", "extra"],
    ["add"],
    ["add", "x"],
    ["add", "x", "-y", "npx"],
    ["add", "x", "--env", "novalue", "--", "true"],
    ["add", "x", "--header", "A=b", "--", "true"],
    ["add", "x", "--env", "A=b", "https://example.com"],
    ["add", "x", "--type", "pigeon", "https://example.com"],
    ["get"],
    ["remove", "a", "b"],
  ];
  for (const words of usage) expect((await bench.tenon(["mcp", ...words])).code, words.join(" ")).toBe(2);
  const refused = [
    ["get", "nobody"],
    ["remove", "nobody"],
    ["enable", "nobody"],
    ["add", "", "--", "true"],
    ["add", "x", "--type", "http", "no-address"],
    ["add", "x", "--project", "--env", "LD_PRELOAD=./x.so", "--", "true"],
  ];
  for (const words of refused) {
    const { code, stdout, stderr } = await bench.tenon(
      ["mcp", ...words, "--json"].filter((word) => word !== "--json" || !words.includes("--")),
    );
    expect(code, words.join(" ")).toBe(3);
    expect(stderr).toContain("tenon mcp: ");
    if (!words.includes("--")) expect(JSON.parse(stdout)).toMatchObject({ error: { code: "config.invalid" } });
  }
  expect(existsSync(join(bench.home, "config.json"))).toBe(false);
  bench.put("home/config.json", '{ "mcpServers": { ');
  expect((await bench.tenon(["mcp", "add", "x", "--", "true"])).code).toBe(3);
  expect(readFileSync(join(bench.home, "config.json"), "utf8")).toBe('{ "mcpServers": { ');
});
