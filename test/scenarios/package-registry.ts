// A registry of packages with one package in it, on this machine: what npx downloads, and how often, is on record.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { TemporaryFolder } from "./agent.js";

export const PACKAGE = "@scope/probe-server";

/** Runs when the package is installed, and leaves behind what it saw. */
const INSTALL = `
const fs = require("node:fs");
const seen = { env: process.env, home: fs.readdirSync(process.env.HOME), root: fs.readdirSync("/") };
fs.writeFileSync(__dirname + "/seen.json", JSON.stringify(seen));
`;

export class PackageRegistry implements AsyncDisposable {
  readonly #folder: TemporaryFolder;
  readonly #server: Server;
  readonly url: string;
  /** Paths that were asked for. */
  readonly requests: string[];

  private constructor(folder: TemporaryFolder, server: Server, url: string, requests: string[]) {
    this.#folder = folder;
    this.#server = server;
    this.url = url;
    this.requests = requests;
  }

  /** The package itself is sent once `held` resolves. */
  static async start(name: string = PACKAGE, held: Promise<void> = Promise.resolve()): Promise<PackageRegistry> {
    const folder = new TemporaryFolder();
    const manifest = {
      name,
      version: "1.0.0",
      bin: { "probe-server": "probe-server.mjs" },
      scripts: { postinstall: "node install.cjs" },
    };
    const tarball = pack(folder.path, manifest);
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const requests: string[] = [];
    const server = createServer((request, response) => {
      const path = decodeURIComponent(request.url ?? "");
      requests.push(path);
      if (path === "/package.tgz") held.then(() => response.end(tarball)).catch(() => response.destroy());
      else if (path === `/${name}`) {
        const dist = { tarball: `http://${request.headers.host}/package.tgz`, integrity };
        const versions = { "1.0.0": { ...manifest, hasInstallScript: true, dist } };
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions }));
      } else response.writeHead(404).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return new PackageRegistry(folder, server, `http://127.0.0.1:${address.port}`, requests);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#folder[Symbol.dispose]();
  }
}

function pack(folder: string, manifest: object): Buffer {
  const inside = join(folder, "package");
  mkdirSync(inside);
  writeFileSync(join(inside, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(inside, "install.cjs"), INSTALL);
  const program = join(inside, "probe-server.mjs");
  copyFileSync(join(import.meta.dirname, "../fixtures/probe-server.mjs"), program);
  writeFileSync(program, `#!/usr/bin/env node\n${readFileSync(program, "utf8")}`);
  const { status } = spawnSync("tar", ["-czf", join(folder, "package.tgz"), "-C", folder, "package"]);
  if (status !== 0) throw new Error("tar failed");
  return readFileSync(join(folder, "package.tgz"));
}
