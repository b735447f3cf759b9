// The files of deploy/: they parse, and every command and option in them exists. Docker itself does not run where this is tested.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { expect } from "vitest";
import { parse } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import { TABLE } from "../../src/cli/table.js";
import { TemporaryFolder } from "../scenarios/agent.js";
import { scenario } from "../scenarios/scenario.js";

const DEPLOY = join(import.meta.dirname, "../../deploy");
const read = (name: string) => readFileSync(join(DEPLOY, name), "utf8");

/** Throws for a command or an option that there is not. */
function checkTenon([group, name, ...args]: readonly string[]): Record<string, unknown> {
  const entry = TABLE.find((one) => one.kind === "group" && one.name === group);
  const command = entry?.kind === "group" ? entry.commands.find((one) => one.name === name) : undefined;
  if (!command) throw new Error(`there is no tenon ${group} ${name}`);
  const options = { ...command.options, help: { type: "boolean" } } as const;
  const { values } = parseArgs({ args, options, strict: true, allowPositionals: false });
  expect(args.join(" ")).not.toMatch(/password|:\/\/[^/@\s]*:[^/@\s]*@/iu);
  return values;
}

function objectAt(value: JsonValue | undefined, ...path: readonly string[]): JsonObject {
  let found = value;
  for (const name of path) found = isJsonObject(found) ? found[name] : undefined;
  if (!isJsonObject(found)) throw new Error(`there is no ${path.join(".")}`);
  return found;
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value) || value.some((one) => typeof one !== "string"))
    throw new Error("this is no list of texts");
  return value.map(String);
}

scenario(
  ["G820"],
  "compose.yaml has two nodes on one database that is waited for, the same folders, and no password in it",
  async () => {
    const text = read("compose.yaml");
    const compose: JsonValue = parse(text, { merge: true });
    const services = objectAt(compose, "services");
    expect(Object.keys(services)).toEqual(["database", "node-1", "node-2"]);
    expect(objectAt(services, "database", "healthcheck")["test"]).toEqual([
      "CMD-SHELL",
      "pg_isready -U tenon -d tenon",
    ]);
    const roots = ["node-1", "node-2"].map((name) => {
      const node = objectAt(services, name);
      const { listen, root } = checkTenon(textsIn(node["command"]));
      expect(listen).toEqual(["0.0.0.0:4711"]);
      expect(objectAt(node, "environment")["TENON_GATEWAY_STORE"]).toBe("postgres://tenon@database/tenon");
      expect(objectAt(node, "depends_on", "database")["condition"]).toBe("service_healthy");
      expect(node["hostname"]).toBe(name);
      expect(textsIn(node["volumes"])).toContain("projects:/projects");
      expect(textsIn(node["secrets"]).toSorted()).toEqual(Object.keys(objectAt(compose, "secrets")).toSorted());
      return root;
    });
    expect(roots).toEqual([["/projects"], ["/projects"]]);
    const named = Object.values(services).flatMap((service) => textsIn(objectAt(service)["volumes"]));
    const volumes = named.map((one) => one.split(":")[0] ?? "").filter((one) => !one.startsWith("."));
    expect([...new Set(volumes)].toSorted()).toEqual(Object.keys(objectAt(compose, "volumes")).toSorted());
    const passwords = [...text.matchAll(/PASSWORD: (.*)$/gmu)].map(([, value = ""]) => value);
    expect(passwords.filter((value) => !value.startsWith("${POSTGRES_PASSWORD:?"))).toEqual([]);
    expect(passwords).toHaveLength(2);
  },
);

scenario(["G820"], "the Dockerfile starts a command that there is, as a user that is not root", async () => {
  const text = read("Dockerfile");
  const command: JsonValue = JSON.parse(/^CMD (.*)$/mu.exec(text)?.[1] ?? "null");
  checkTenon(textsIn(command));
  expect(text).toMatch(/^ENTRYPOINT \["tenon"\]$/mu);
  expect(text.lastIndexOf("USER node")).toBeGreaterThan(text.lastIndexOf("RUN "));
});

const UNIT = "systemd/tenon-gateway.service";

scenario(["G820"], "the unit of systemd starts a gateway with options that there are", async () => {
  const [, line = ""] = /^ExecStart=\S+\/tenon (.*)$/mu.exec(read(UNIT)) ?? [];
  const { listen, root } = checkTenon(line.split(" "));
  expect({ listen, root }).toEqual({ listen: ["${TENON_LISTEN}"], root: ["/srv/projects"] });
});

scenario(
  ["G820"],
  "systemd has no complaint about the unit",
  async () => {
    using folder = new TemporaryFolder();
    const path = join(folder.path, "tenon-gateway.service");
    // The program is where the administrator installs it.
    writeFileSync(path, read(UNIT).replace("/usr/local/bin/tenon", "/bin/true"));
    const said = execFileSync("systemd-analyze", ["verify", path], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect(said).toBe("");
  },
  { needs: ["systemd-analyze"], platform: "linux" },
);
