// The rules of the walls: each takes parsed modules and returns one readable line per breach.
import { builtinModules } from "node:module";
import { posix } from "node:path";
import type { Finding, ImportEdge, SourceModule } from "./module.js";
import {
  FREE_OF_MODELS,
  MARKED_BY,
  MESSAGE_BUILDERS,
  NESTED_REPETITIONS,
  PATTERN_BUILDERS,
  ROOMS,
  type Room,
  WORLDLY_GLOBALS,
  WORLDLY_MEMBERS,
  WORLDLY_MODULES,
} from "./rooms.js";

const MAX_LINES = 600;

const BUILTINS = new Set(builtinModules);

export function roomOf(path: string): string {
  return /^src\/([^/]+)\//.exec(path)?.[1] ?? "";
}

export function isTest(path: string): boolean {
  return path.endsWith(".test.ts");
}

/** The entry of a thread: it has no World, so it may import built-in modules itself. */
function isWorker(path: string): boolean {
  return path.endsWith("-worker.ts");
}

/** Every rule over one module. `dependencies` are the packages of package.json. */
export function breaches(module: SourceModule, dependencies: ReadonlySet<string>): string[] {
  const room = ROOMS[roomOf(module.path)];
  if (!room)
    return [`${module.path}: "${roomOf(module.path)}" is not a room; add it to the table with what it may import`];
  return [
    ...module.imports.flatMap((edge) => at(module, edge.line, importBreach(module, room, edge, dependencies))),
    ...module.findings.flatMap((finding) => at(module, finding.line, findingBreach(module, room, finding))),
    ...sizeBreaches(module),
  ];
}

export function sizeBreaches(module: SourceModule): string[] {
  const breach = module.lineCount > MAX_LINES ? `${module.lineCount} lines, the gate is ${MAX_LINES}` : undefined;
  const job = module.firstLine.startsWith("//")
    ? undefined
    : "the first line must be a comment with the file's one job";
  return [...at(module, 1, breach), ...at(module, 1, job)];
}

function at(module: SourceModule, line: number, breach: string | undefined): string[] {
  return breach === undefined ? [] : [`${module.path}:${line}: ${breach}`];
}

function importBreach(
  module: SourceModule,
  room: Room,
  edge: ImportEdge,
  dependencies: ReadonlySet<string>,
): string | undefined {
  if (edge.specifier.startsWith(".")) return roomBreach(module, room, edge);
  const name = edge.specifier.replace(/^node:/, "");
  const top = name.split("/")[0] ?? name;
  if (BUILTINS.has(top) || edge.specifier.startsWith("node:")) return builtinBreach(module, room, edge, top);
  return packageBreach(module, room, edge, dependencies);
}

function roomBreach(module: SourceModule, room: Room, edge: ImportEdge): string | undefined {
  const own = roomOf(module.path);
  const target = posix.join(posix.dirname(module.path), edge.specifier).replace(/\.js$/, ".ts");
  const other = roomOf(target);
  if (other === "") {
    return isTest(module.path) ? undefined : `imports ${edge.specifier}, which lies outside src/`;
  }
  const isLab = (path: string) => path.startsWith("src/testing/lab/");
  if (isLab(target) && !isLab(module.path) && !isTest(module.path)) return "imports the test lab, which only tests may";
  if (other === own) return undefined;
  const mayTest = own === "cli" || module.path === "src/library/testing.ts";
  if (other === "testing" && !mayTest && !isTest(module.path)) return "imports the room testing, which only tests may";
  const mayTypes = room.types?.includes(other) === true;
  const may =
    room.rooms.includes(other) || (isTest(module.path) && (other === "testing" || other === "world" || mayTypes));
  if (!may && !mayTypes) return `the room ${own} must not import the room ${other} (${edge.specifier})`;
  if (!may && !edge.isType) return `the room ${own} may only import types from the room ${other} (${edge.specifier})`;
  const isDoor =
    other === "base" ||
    other === "index" ||
    target === `src/${other}/index.ts` ||
    (isTest(module.path) && (target === `src/${other}/limits.ts` || target === "src/testing/lab/index.ts"));
  return isDoor
    ? undefined
    : `enters the room ${other} past its door: import ../${other}/index.js, not ${edge.specifier}`;
}

function builtinBreach(module: SourceModule, room: Room, edge: ImportEdge, top: string): string | undefined {
  if (!edge.specifier.startsWith("node:")) return `write "node:${edge.specifier}"`;
  const isFree = edge.isType || room.isWorldly === true || isTest(module.path) || isWorker(module.path);
  if (isFree || !WORLDLY_MODULES.has(top)) return undefined;
  return `imports ${edge.specifier}; outside world, cli and testing that comes in through the World port`;
}

function packageBreach(
  module: SourceModule,
  room: Room,
  edge: ImportEdge,
  dependencies: ReadonlySet<string>,
): string | undefined {
  if (isTest(module.path)) return undefined;
  const own = roomOf(module.path);
  const name = edge.specifier.split("/", edge.specifier.startsWith("@") ? 2 : 1).join("/");
  // The command line is bundled, so it may use any dependency; a room says which it needs.
  const allowed =
    own === "cli" || room.packages?.some((entry) => name === entry || (entry.endsWith("/") && name.startsWith(entry)));
  if (!allowed) return `the room ${own} must not touch the package ${name}`;
  return dependencies.has(name) ? undefined : `imports ${name}, which package.json does not name`;
}

function findingBreach(module: SourceModule, room: Room, finding: Finding): string | undefined {
  const isFree = room.isWorldly === true || isTest(module.path);
  switch (finding.kind) {
    case "export-star":
      return "export * hides what a room shows; name the exports";
    case "default-export":
      return "default export; name it";
    case "computed-import":
      return "import() of a computed name: no wall can be kept around it";
    case "model-role":
    case "imported-name":
      return isTest(module.path) ? undefined : unmarkedPath(module.path, finding);
    case "unheard-then":
      if (isTest(module.path)) return undefined;
      return "un-owned promise: what the functions given to then() throw is heard by nobody; end it with catch(), or give it to handled()";
    case "unheard-emitter":
      if (isTest(module.path)) return undefined;
      return `${finding.what}() makes an emitter without a listener for "error", which would end the process: add .on("error", …) beside it`;
    case "unowned-promise":
      if (isTest(module.path)) return undefined;
      return `un-owned promise: nobody hears of a rejection of ${finding.what}; await or return it here, end it with catch(), or give it to handled()`;
    case "built-pattern":
      return isTest(module.path) || PATTERN_BUILDERS.has(module.path) || roomOf(module.path) === "testing"
        ? undefined
        : "builds a regular expression at run time: match with base/text/pattern.ts or base/text/glob.ts, in linear time";
    case "nested-repetition":
      return isTest(module.path) || NESTED_REPETITIONS.has(module.path)
        ? undefined
        : `repeats what is repeated already: /${finding.what}/ can take exponential time`;
    case "cast":
      return undefined; // needs the whole room: see castBreaches
    case "global":
      return !isFree && WORLDLY_GLOBALS.has(finding.what)
        ? `uses ${finding.what}; take it from the World port`
        : undefined;
    case "member":
      if (finding.what === "AbortSignal.timeout")
        return "AbortSignal.timeout escapes the fake clock; use world.deadline";
      if (finding.what === "URL.canParse") return "URL.canParse of Node 20 is wrong once it is called often; use isUrl";
      return !isFree && WORLDLY_MEMBERS.has(finding.what)
        ? `uses ${finding.what}; take it from the World port`
        : undefined;
  }
}

/** Paths to a model: messages are built here only, of content that `markContent` marked or that these modules vouch for. */
function unmarkedPath(path: string, { kind, what }: Finding): string | undefined {
  if (FREE_OF_MODELS.has(roomOf(path))) return undefined;
  const allowed = kind === "model-role" ? MESSAGE_BUILDERS : what === "alreadyMarked" ? MARKED_BY : undefined;
  if (!allowed || allowed.has(path)) return undefined;
  return kind === "model-role"
    ? `unmarked path to a model: builds a message of the role ${what}; give the content to Transcript`
    : `unmarked path to a model: uses ${what}; mark the content with markContent`;
}

/** A cast is fair only to a brand of the same room, and in one file: the brand's maker. */
export function castBreaches(modules: readonly SourceModule[]): string[] {
  const makers = new Map<string, string>();
  return modules
    .filter(({ path }) => !isTest(path))
    .flatMap((module) =>
      module.findings
        .filter(({ kind }) => kind === "cast")
        .flatMap(({ what, line }) => {
          const room = roomOf(module.path);
          const isBrand = modules.some((other) => roomOf(other.path) === room && other.brands.includes(what));
          if (!isBrand) return at(module, line, `casts to ${what}: parse or narrow it; only brands are made by a cast`);
          const maker = makers.get(`${room} ${what}`) ?? module.path;
          makers.set(`${room} ${what}`, maker);
          return at(
            module,
            line,
            maker === module.path ? undefined : `makes the brand ${what}, as ${maker} does already`,
          );
        }),
    );
}

/** Circles of value imports, each as the list of its files; type imports and dynamic ones load nothing by themselves. */
export function importCycles(modules: readonly SourceModule[]): string[] {
  const edges = new Map(
    modules.map(({ path, imports }) => [
      path,
      imports
        .filter(({ specifier, isType, isDynamic }) => specifier.startsWith(".") && !isType && !isDynamic)
        .map(({ specifier }) => posix.join(posix.dirname(path), specifier).replace(/\.js$/, ".ts")),
    ]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path].join(" -> "));
    if (start >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return cycles;
}
