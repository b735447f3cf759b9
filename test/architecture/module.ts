// What one TypeScript file imports, exports and touches, read from its syntax tree (so no comment or string can fool it).
import { parseSync, visitorKeys } from "oxc-parser";
import { hasNestedRepetition } from "./regex.js";
import { unheard } from "./unheard.js";

export interface ImportEdge {
  readonly specifier: string;
  /** `import type`, `export type … from` or `import("…").T`. An inline `{ type T }` still loads the module, so it is a value. */
  readonly isType: boolean;
  readonly isDynamic: boolean;
  readonly line: number;
}

/** Something a rule may forbid, with the line it stands on. */
export interface Finding {
  readonly kind:
    | "export-star"
    | "default-export"
    | "computed-import"
    | "cast"
    | "global"
    | "member"
    | "model-role"
    | "imported-name"
    | "unheard-then"
    | "unheard-emitter"
    | "unowned-promise"
    | "built-pattern"
    | "nested-repetition";
  readonly what: string;
  readonly line: number;
}

export interface SourceModule {
  readonly path: string;
  readonly lineCount: number;
  readonly firstLine: string;
  readonly imports: readonly ImportEdge[];
  readonly findings: readonly Finding[];
  /** Names of the brands it declares. */
  readonly brands: readonly string[];
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

export function parseModule(path: string, text: string): SourceModule {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`);
  const lines = text.split("\n");
  const starts: number[] = [];
  for (let offset = 0, index = 0; index < lines.length; offset += (lines[index]?.length ?? 0) + 1, index++)
    starts.push(offset);
  const lineAt = (offset: number): number => {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const reader = new Reader((node) => lineAt(node.start));
  if (isNode(program)) reader.read(program);
  return {
    path,
    lineCount: text.endsWith("\n") ? lines.length - 1 : lines.length,
    firstLine: (lines[0]?.startsWith("#!") ? lines[1] : lines[0]) ?? "",
    imports: reader.imports,
    findings: [...reader.findings(), ...unheard(program, text, lineAt)],
    brands: reader.brands,
  };
}

class Reader {
  readonly imports: ImportEdge[] = [];
  readonly brands: string[] = [];
  readonly #findings: Finding[] = [];
  readonly #references: { name: string; line: number }[] = [];
  readonly #bound = new Set<string>();
  readonly #lineOf: (node: Node) => number;

  constructor(lineOf: (node: Node) => number) {
    this.#lineOf = lineOf;
  }

  /** Names the file binds itself are not the globals of that name. */
  findings(): Finding[] {
    const globals = this.#references.filter(({ name }) => !this.#bound.has(name));
    return [...this.#findings, ...globals.map(({ name, line }): Finding => ({ kind: "global", what: name, line }))];
  }

  read(node: Node): void {
    this.#readImports(node);
    this.#readExports(node);
    this.#readCasts(node);
    this.#readModelWords(node);
    this.#readPatterns(node);
    this.#readNames(node);
    for (const key of visitorKeys[node.type] ?? []) {
      if (isNameOnly(node, key)) continue;
      const value = node[key];
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) this.read(child);
    }
  }

  #readImports(node: Node): void {
    const line = this.#lineOf(node);
    switch (node.type) {
      case "ImportDeclaration":
      case "ExportNamedDeclaration":
      case "ExportAllDeclaration": {
        const specifier = textOf(node["source"]);
        const isType = node["importKind"] === "type" || node["exportKind"] === "type";
        if (specifier !== undefined) this.imports.push({ specifier, isType, isDynamic: false, line });
        break;
      }
      case "TSImportType": {
        const specifier = textOf(node["source"]);
        if (specifier !== undefined) this.imports.push({ specifier, isType: true, isDynamic: false, line });
        break;
      }
      case "TSExternalModuleReference": {
        const specifier = textOf(node["expression"]);
        if (specifier !== undefined) this.imports.push({ specifier, isType: false, isDynamic: false, line });
        break;
      }
      case "ImportExpression": {
        const specifier = textOf(node["source"]);
        if (specifier === undefined) this.#findings.push({ kind: "computed-import", what: "import(…)", line });
        else this.imports.push({ specifier, isType: false, isDynamic: true, line });
        break;
      }
    }
  }

  #readExports(node: Node): void {
    const line = this.#lineOf(node);
    if (node.type === "ExportAllDeclaration") this.#findings.push({ kind: "export-star", what: "export *", line });
    if (
      node.type === "ExportDefaultDeclaration" ||
      (node.type === "ExportSpecifier" && nameOf(node["exported"]) === "default")
    ) {
      this.#findings.push({ kind: "default-export", what: "export default", line });
    }
  }

  #readCasts(node: Node): void {
    const line = this.#lineOf(node);
    if (node.type === "TSTypeAliasDeclaration") {
      const type = node["typeAnnotation"];
      if (isNode(type) && type.type === "TSTypeReference" && nameOf(type["typeName"]) === "Brand") {
        this.brands.push(nameOf(node["id"]) ?? "");
      }
    } else if (node.type === "TSAsExpression" || node.type === "TSTypeAssertion") {
      const type = node["typeAnnotation"];
      const name = isNode(type) && type.type === "TSTypeReference" ? nameOf(type["typeName"]) : undefined;
      if (name !== "const") this.#findings.push({ kind: "cast", what: name ?? "a type", line });
    } else if (node.type === "TSNonNullExpression") this.#findings.push({ kind: "cast", what: "non-null", line });
  }

  /** `{ role: "user" }` is a message for a model; names of imports say which makers of such messages are used. */
  #readModelWords(node: Node): void {
    const line = this.#lineOf(node);
    if (node.type === "ImportSpecifier") {
      this.#findings.push({ kind: "imported-name", what: nameOf(node["imported"]) ?? "", line });
    } else if (node.type === "Property" && nameOf(node["key"]) === "role") {
      const role = textOf(node["value"]);
      if (role === "user" || role === "tool" || role === "system") {
        this.#findings.push({ kind: "model-role", what: role, line });
      }
    }
  }

  /** Regular expressions that are put together while the program runs, and literals that can take exponential time. */
  #readPatterns(node: Node): void {
    const line = this.#lineOf(node);
    if ((node.type === "NewExpression" || node.type === "CallExpression") && nameOf(node["callee"]) === "RegExp") {
      const [source] = Array.isArray(node["arguments"]) ? node["arguments"] : [];
      if (textOf(source) === undefined) this.#findings.push({ kind: "built-pattern", what: "RegExp", line });
    }
    const regex = node.type === "Literal" ? node["regex"] : undefined;
    if (typeof regex !== "object" || regex === null || !("pattern" in regex)) return;
    const pattern = String(regex.pattern);
    if (hasNestedRepetition(pattern)) this.#findings.push({ kind: "nested-repetition", what: pattern, line });
  }

  #readNames(node: Node): void {
    for (const key of BINDING_KEYS[node.type] ?? []) {
      const value = node[key];
      for (const pattern of Array.isArray(value) ? value : [value]) this.#bind(pattern);
    }
    if (node.type === "Identifier") this.#references.push({ name: nameOf(node) ?? "", line: this.#lineOf(node) });
    if (node.type === "MemberExpression" && node["computed"] !== true) {
      const what = `${nameOf(node["object"]) ?? "…"}.${nameOf(node["property"]) ?? "…"}`;
      this.#findings.push({ kind: "member", what, line: this.#lineOf(node) });
    }
  }

  #bind(pattern: unknown): void {
    if (!isNode(pattern)) return;
    if (pattern.type === "Identifier") this.#bound.add(nameOf(pattern) ?? "");
    for (const key of PATTERN_KEYS[pattern.type] ?? []) {
      const value = pattern[key];
      for (const inner of Array.isArray(value) ? value : [value]) this.#bind(inner);
    }
  }
}

/** Where names are introduced… */
const BINDING_KEYS: Readonly<Record<string, readonly string[]>> = {
  ImportSpecifier: ["local"],
  ImportDefaultSpecifier: ["local"],
  ImportNamespaceSpecifier: ["local"],
  VariableDeclarator: ["id"],
  FunctionDeclaration: ["id", "params"],
  FunctionExpression: ["id", "params"],
  ArrowFunctionExpression: ["params"],
  ClassDeclaration: ["id"],
  ClassExpression: ["id"],
  CatchClause: ["param"],
};

/** …and how a pattern nests them. */
const PATTERN_KEYS: Readonly<Record<string, readonly string[]>> = {
  ObjectPattern: ["properties"],
  Property: ["value"],
  ArrayPattern: ["elements"],
  AssignmentPattern: ["left"],
  RestElement: ["argument"],
};

/** Children that are identifiers in the tree but neither a reference to a variable nor a holder of one. */
function isNameOnly(node: Node, key: string): boolean {
  if (key === "property" || key === "key") return node["computed"] !== true;
  if (key === "imported" || key === "exported") return true;
  return (
    node.type.startsWith("TS") && ["id", "typeName", "exprName", "qualifier", "parameterName", "key"].includes(key)
  );
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === "object" && value !== null && "type" in value && typeof value.type === "string" && "start" in value
  );
}

function nameOf(node: unknown): string | undefined {
  return isNode(node) && typeof node["name"] === "string" ? node["name"] : undefined;
}

/** The text of a string literal, or of a template without holes. */
function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type !== "TemplateLiteral" || !Array.isArray(node["quasis"]) || node["quasis"].length !== 1)
    return undefined;
  const [quasi]: unknown[] = node["quasis"];
  const value = isNode(quasi) ? quasi["value"] : undefined;
  return typeof value === "object" && value !== null && "cooked" in value && typeof value.cooked === "string"
    ? value.cooked
    : undefined;
}
