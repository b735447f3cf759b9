// Failures that nobody would hear of: promises without an owner, and emitters without a listener for `error`.
import { visitorKeys } from "oxc-parser";
import type { Finding } from "./module.js";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** What makes an emitter whose `error` ends the process when nobody listens, by the module it comes from. */
const EMITTERS: Readonly<Record<string, readonly string[]>> = {
  "node:child_process": ["spawn", "fork"],
  "node:net": ["createServer", "connect", "createConnection"],
  "node:tls": ["createServer", "connect"],
  "node:http": ["createServer", "request", "get"],
  "node:https": ["createServer", "request", "get"],
  "node:fs": ["watch", "createReadStream", "createWriteStream"],
  "node:worker_threads": ["Worker"],
};
/** Also where it is not imported by its name: builtins can be had in other ways. */
const ALWAYS = ["Worker"];
const HEARS = /\.on\("error",/;

/** `lineOf` takes an offset in `text`. */
export function unheard(program: unknown, text: string, lineOf: (offset: number) => number): Finding[] {
  const findings: Finding[] = [];
  if (!isNode(program)) return findings;
  const emitters = new Set([...ALWAYS, ...importedEmitters(program)]);
  const report = (kind: Finding["kind"], what: string, node: Node) =>
    findings.push({ kind, what, line: lineOf(node.start) });
  const visit = (node: Node, within: Within): void => {
    const here = enter(node, within);
    if (isUnheardThen(node)) report("unheard-then", "then", node);
    const made = emitterMadeBy(node, emitters);
    if (made !== undefined && here.top && !HEARS.test(slice(text, here.top))) report("unheard-emitter", made, node);
    const kept = promiseKeptBy(node, here, text);
    if (kept !== undefined) report("unowned-promise", kept, node);
    for (const child of childrenOf(node)) visit(child, here);
  };
  visit(program, {});
  return findings;
}

interface Within {
  /** The declaration at the top of the file, or the member of a class, that the node stands in. */
  readonly top?: Node | undefined;
  readonly body?: Node | undefined;
  readonly asyncMethods?: ReadonlySet<string> | undefined;
}

function enter(node: Node, within: Within): Within {
  if (node.type === "ClassBody") return { ...within, asyncMethods: asyncMethodsOf(node) };
  if (/^(?:Function|ArrowFunction)/u.test(node.type)) return { ...within, top: within.top ?? node, body: node };
  if (node.type === "MethodDefinition" || node.type === "VariableDeclaration")
    return { ...within, top: within.top ?? node };
  return within;
}

/** A statement that ends in `.then(…)`: what its handlers throw is an unhandled rejection. `resolve, reject` throw nothing. */
function isUnheardThen(node: Node): boolean {
  if (node.type !== "ExpressionStatement") return false;
  const call = node["expression"];
  if (!isNode(call) || call.type !== "CallExpression" || memberOf(call) !== "then") return false;
  const given = Array.isArray(call["arguments"]) ? call["arguments"] : [];
  return !(given.length === 2 && given.every((one) => isNode(one) && /^(?:resolve|reject)$/u.test(nameOf(one) ?? "")));
}

function emitterMadeBy(node: Node, emitters: ReadonlySet<string>): string | undefined {
  if (node.type !== "CallExpression" && node.type !== "NewExpression") return undefined;
  const name = isNode(node["callee"]) ? nameOf(node["callee"]) : undefined;
  return name !== undefined && emitters.has(name) ? name : undefined;
}

/**
 * A field that is given a promise which may reject, in a function that neither awaits, returns nor handles it: the
 * rejection is unhandled unless somebody happens to wait for the field at that moment.
 */
function promiseKeptBy(node: Node, { body, asyncMethods }: Within, text: string): string | undefined {
  if (node.type !== "AssignmentExpression" || !body) return undefined;
  const { left, right } = node;
  if (!isNode(left) || left.type !== "MemberExpression" || !isNode(right) || right.type !== "CallExpression")
    return undefined;
  const field = slice(text, left);
  if (!field.startsWith("this.")) return undefined;
  const method = memberOf(right) ?? "";
  const callee = isNode(right["callee"]) ? slice(text, right["callee"]) : "";
  const isAsync = callee === `this.${method}` && asyncMethods?.has(method) === true;
  if (!isAsync && method !== "then" && method !== "finally") return undefined;
  const name = field.replaceAll(/[.$]/gu, "\\$&");
  const isHeard = new RegExp(`(?:await|return)\\b[^;]*${name}\\b|handled\\(\\s*${name}\\b`, "u");
  return isHeard.test(slice(text, body)) ? undefined : field;
}

function asyncMethodsOf(body: Node): ReadonlySet<string> {
  const members = Array.isArray(body["body"]) ? body["body"] : [];
  const names = members.flatMap((member: unknown) => {
    if (!isNode(member) || member.type !== "MethodDefinition") return [];
    const { key, value } = member;
    const name = isNode(key) ? nameOf(key) : undefined;
    return isNode(value) && value["async"] === true && name !== undefined ? [name] : [];
  });
  return new Set(names);
}

function importedEmitters(program: Node): readonly string[] {
  return childrenOf(program).flatMap((node) => {
    if (node.type !== "ImportDeclaration" || !isNode(node["source"])) return [];
    const known = EMITTERS[String(node["source"]["value"])] ?? [];
    return childrenOf(node).flatMap((specifier) => {
      const { imported, local } = specifier;
      const isEmitter = isNode(imported) && known.includes(nameOf(imported) ?? "");
      const name = isNode(local) ? nameOf(local) : undefined;
      return isEmitter && name !== undefined ? [name] : [];
    });
  });
}

/** `#close` for a private one. */
function nameOf(node: Node): string | undefined {
  const { name } = node;
  if (typeof name !== "string") return undefined;
  return node.type === "PrivateIdentifier" ? `#${name}` : name;
}

function memberOf(call: Node): string | undefined {
  const { callee } = call;
  if (!isNode(callee) || callee.type !== "MemberExpression") return undefined;
  return isNode(callee["property"]) ? nameOf(callee["property"]) : undefined;
}

function slice(text: string, node: Node): string {
  return text.slice(node.start, node.end);
}

function childrenOf(node: Node): Node[] {
  return (visitorKeys[node.type] ?? []).flatMap((key) => {
    const value = node[key];
    return (Array.isArray(value) ? value : [value]).filter(isNode);
  });
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
