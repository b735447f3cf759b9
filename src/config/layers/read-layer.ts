// Reads one configuration file into a layer. A malformed entry is left out and reported with its position.

import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LAUNCH_LIMITS } from "../../base/limits.js";
import type { FoundPath, World } from "../../base/ports/world.js";
import { nearest } from "../../base/text/nearest.js";
import type { PolicyRule } from "../../tools/index.js";
import { CONFIG_LIMITS } from "../limits.js";
import { type Document, type KeyPath, parseDocument } from "./document.js";
import { type Finding, kindOf } from "./findings.js";
import {
  emptyLayer,
  type Layer,
  type LayerKind,
  type LayerServer,
  type LayerValue,
  type Place,
  type Problem,
  placeText,
  type RejectedEntry,
} from "./layer.js";
import { isInside } from "./paths.js";
import { nameProblem, readEntry, type Schemas, USER_ONLY_KEYS, userOnlyMessage } from "./read-entry.js";
import { readRules } from "./rules.js";

export interface LayerFile {
  readonly kind: "user" | "project" | "command-line";
  readonly path: string;
  /** Shared with other clients (`.mcp.json`, `--mcp-config`): only `mcpServers` is read, foreign keys are not remarked on. */
  readonly isShared: boolean;
  /** A project's file must lie in this folder, links followed. */
  readonly within?: string;
  /** A file named by an option must exist. */
  readonly isRequired?: boolean;
}

/** Never rejects: what cannot be read is a problem of the layer. */
export async function readLayer(world: World, file: LayerFile): Promise<Layer> {
  const { kind, path } = file;
  const failed = (message: string, more: { readonly isUnread?: true } = {}): Layer =>
    emptyLayer(kind, path, [{ severity: "error", place: { layer: kind, file: path }, message, ...more }]);
  try {
    const found = await world.files.find(path);
    if (!found) return file.isRequired ? failed("there is no such file") : emptyLayer(kind, path);
    const refusal = whyNotRead(found, CONFIG_LIMITS.configMaxBytes, file.within);
    if (refusal !== undefined) return failed(refusal);
    // By its real path: a link that is turned elsewhere from now on is not followed.
    const text = await world.files.readText(found.realPath);
    const schemas = await import("./schema.js");
    return layerOf(text, file, schemas);
  } catch (error) {
    return failed(`the file cannot be read: ${messageOf(error)}`, { isUnread: true });
  }
}

/** Undefined when it may be read. `within`: the folder it must lie in. */
export function whyNotRead(found: FoundPath, maxBytes: number, within: string | undefined): string | undefined {
  if (found.kind !== "file")
    return found.kind === "folder" ? "this is a folder, not a file" : "this is no regular file";
  if (found.bytes > maxBytes) return `the file is larger than ${maxBytes} bytes`;
  if (within === undefined || isInside(found.realPath, within)) return undefined;
  return `the file is a link that leads out of the project, to ${found.realPath}; it is not read`;
}

const MAX_SHOWN_NAME = 64;

/** The entries of a section by name; of a project's only the first. One sentence for all others: a file may name thousands. */
export function serverEntries(
  section: JsonValue | undefined,
  label: string,
  layer: LayerKind,
): {
  readonly entries: readonly (readonly [string, JsonValue | undefined])[];
  readonly fault?: Pick<Finding, "at" | "message">;
} {
  if (!isJsonObject(section)) {
    const message = `${label} must be an object of entries by name, got ${kindOf(section)}`;
    return { entries: [], fault: { at: "value", message } };
  }
  const entries = Object.entries(section);
  const { projectServers, namedServers } = LAUNCH_LIMITS;
  if (layer !== "project" || entries.length <= projectServers) return { entries };
  const left = entries.slice(projectServers);
  const shown = left.slice(0, namedServers).map(([name]) => JSON.stringify(name.slice(0, MAX_SHOWN_NAME)));
  const more = left.length > namedServers ? ` and ${left.length - namedServers} more` : "";
  const message = `a project file may bring ${projectServers} servers; the ${left.length} after these are not loaded: ${shown.join(", ")}${more}`;
  return { entries: entries.slice(0, projectServers), fault: { at: "key", message } };
}

/** Pure: the text of a file to its layer. */
export function layerOf(text: string, file: LayerFile, schemas: Schemas): Layer {
  const document = parseDocument(text, file.kind === "project" ? LAUNCH_LIMITS.projectServers : undefined);
  return new LayerReader(document, file, schemas).read();
}

class LayerReader {
  readonly #document: Document;
  readonly #file: LayerFile;
  readonly #schemas: Schemas;
  readonly #problems: Problem[] = [];
  readonly #servers: LayerServer[] = [];
  readonly #invalid: RejectedEntry[] = [];
  readonly #values: LayerValue[] = [];
  readonly #rules: PolicyRule[] = [];

  constructor(document: Document, file: LayerFile, schemas: Schemas) {
    this.#document = document;
    this.#file = file;
    this.#schemas = schemas;
  }

  read(): Layer {
    const { kind, path: file } = this.#file;
    for (const { severity, message, position } of this.#document.problems) {
      this.#problems.push({ severity, message, place: { layer: kind, file, ...position } });
    }
    const { value } = this.#document;
    if (isJsonObject(value)) for (const [key, field] of Object.entries(value)) this.#readKey(key, field);
    else if (value !== undefined) this.#report([], "value", { message: `expected an object, got ${kindOf(value)}` });
    return {
      kind,
      file,
      servers: this.#servers,
      invalid: this.#invalid,
      values: this.#values,
      rules: this.#rules,
      problems: this.#problems,
    };
  }

  #readKey(key: string, value: JsonValue | undefined): void {
    const known = ["mcpServers", ...this.#schemas.VALUE_KEYS];
    if (key === "$schema") return;
    if (key === "mcpServers") this.#readServers(value);
    else if (key === "permissions" && !this.#file.isShared && isJsonObject(value)) this.#readPermissions(value);
    else if (this.#file.kind === "project" && Object.hasOwn(USER_ONLY_KEYS, key)) {
      this.#report([key], "key", { message: userOnlyMessage(key, USER_ONLY_KEYS[key] ?? "") });
    } else if (this.#file.isShared) {
      const meant = nearest(key, ["mcpServers"]);
      if (meant !== undefined) this.#report([key], "key", { message: `unknown key "${key}"`, suggestion: meant });
    } else if (!known.includes(key)) {
      const suggestion = nearest(key, known);
      const severity = suggestion === undefined ? "warning" : "error";
      const message = `unknown key ${JSON.stringify(key)} is ignored`;
      this.#report([key], "key", { severity, message, ...defined({ suggestion }) });
    } else this.#readValue(key, value);
  }

  #readServers(value: JsonValue | undefined): void {
    const { entries, fault } = serverEntries(value, "mcpServers", this.#file.kind);
    for (const [name, entry] of entries) this.#readServer(name, entry);
    if (fault) this.#report(["mcpServers"], fault.at, fault);
  }

  #readServer(name: string, written: JsonValue | undefined): void {
    const path: KeyPath = ["mcpServers", name];
    const place = this.#place(path, "key");
    const checked = readEntry(written, this.#file.kind, this.#schemas);
    const before = this.#problems.length;
    const badName = nameProblem(name);
    const isBroken = this.#document.isBroken(path);
    if (badName !== undefined) this.#report(path, "key", { message: badName }, name);
    if (isBroken) this.#report(path, "key", { message: "left out: there is a syntax error in its entry" }, name);
    // What is wrong with the rest of a broken text is guesswork.
    else for (const finding of checked.findings) this.#report([...path, ...finding.path], finding.at, finding, name);
    if (badName !== undefined || isBroken || !checked.value || !isJsonObject(written)) {
      this.#invalid.push({ status: "invalid", name, place, problems: this.#problems.slice(before) });
      return;
    }
    const placeOf = (inside: KeyPath) => this.#place([...path, ...inside], "value");
    this.#servers.push({ name, place, definition: { kind: "entry", entry: checked.value, written, placeOf } });
  }

  /** Rules are read one by one, and a project may have some; the rest is the user's. */
  #readPermissions({ rules, ...rest }: JsonObject): void {
    const isProject = this.#file.kind === "project";
    const path = ["permissions", "rules"];
    if (!isProject) this.#readValue("permissions", rest);
    else if (Object.keys(rest).length > 0) {
      this.#report(["permissions"], "key", {
        message: userOnlyMessage("permissions", USER_ONLY_KEYS["permissions"] ?? ""),
      });
    }
    if (rules === undefined) return;
    const read = readRules(rules, {
      isProject,
      schemas: this.#schemas,
      placeOf: (index) => placeText(this.#place([...path, index], "value")),
      isBroken: (index) => this.#document.isBroken(index === undefined ? ["permissions"] : [...path, index]),
    });
    for (const finding of read.findings) this.#report([...path, ...finding.path], finding.at, finding);
    this.#rules.push(...read.rules);
  }

  #readValue(key: string, value: JsonValue | undefined): void {
    if (this.#document.isBroken([key])) {
      this.#report([key], "key", { message: `${key} is left out: there is a syntax error in it` });
      return this.#failClosed(key);
    }
    const given: JsonObject = { [key]: value };
    const checked = this.#schemas.check(this.#schemas.configValues, given);
    for (const finding of checked.findings) this.#report(finding.path, finding.at, finding);
    const kept = checked.kept?.[key];
    if (checked.value && kept !== undefined) this.#addLeaves([key], kept);
    else this.#failClosed(key);
  }

  /** A sandbox that cannot be read was meant to hold something: until it is corrected, servers get the strictest one. */
  #failClosed(key: string): void {
    if (key !== "sandbox") return;
    const place = this.#place([key], "key");
    for (const origin of ["user", "project", "client"]) {
      this.#values.push({ path: [key, origin, "mode"], value: "read-only", place });
    }
    this.#report([key], "key", { message: "until sandbox is corrected, every server runs in the sandbox read-only" });
  }

  #addLeaves(path: readonly string[], value: JsonValue): void {
    if (isJsonObject(value)) {
      for (const [key, field] of Object.entries(value)) if (field !== undefined) this.#addLeaves([...path, key], field);
    } else this.#values.push({ path, value, place: this.#place(path, "value") });
  }

  #place(path: KeyPath, what: "key" | "value"): Place {
    return { layer: this.#file.kind, file: this.#file.path, ...this.#document.locate(path, what) };
  }

  #report(
    path: KeyPath,
    at: "key" | "value",
    what: Pick<Problem, "message" | "suggestion"> & Partial<Pick<Finding, "severity">>,
    server?: string,
  ): void {
    const { message, suggestion, severity = "error" } = what;
    this.#problems.push({ severity, place: this.#place(path, at), message, ...defined({ server, suggestion }) });
  }
}
