// What an embedder and the commands of a session may do with its tools.
import { defined } from "../../base/json/defined.js";
import type {
  CatalogTool,
  CatalogView,
  IncludeMode,
  KeptDecision,
  OfferedGrant,
  SearchAnswer,
  SearchRequest,
  Selection,
  SessionCatalog,
  SourceSettings,
  ToolSource,
  WhyAnswer,
} from "../../tools/index.js";

export interface ToolControls {
  /** The tools a model call would be offered now. */
  list(): readonly CatalogTool[];
  /** Adds a source of the embedder's own; one of the same name takes the place of the earlier one. Returns the way back. */
  add(source: ToolSource, settings?: SourceSettings): () => void;
  /** Takes out every source of the embedder's, or the one of that name. */
  clear(name?: string): void;
  search(request: SearchRequest, signal?: AbortSignal): Promise<SearchAnswer>;
  /** Puts a tool in front of the model, whatever its mode: it joins at the next model call. */
  include(name: string): Selection;
  /** For a server by its name or a tool by any of its names. */
  setInclude(name: string, mode: IncludeMode): Selection;
  /** What became of a tool, and why. */
  why(name: string): WhyAnswer;
  /** What is in front of the model for the session, and what this conversation added, with scores. */
  inspect(): CatalogView;
}

export function toolControls(catalog: SessionCatalog): ToolControls {
  return {
    list: () => catalog.peek().tools,
    add: (source, settings) => catalog.add(asExtra(source), settings),
    clear: (name) => catalog.remove("extra", name),
    search: async (request, signal = new AbortController().signal) => await catalog.search(request, signal),
    include: (name) => catalog.addTool(name),
    setInclude: (name, mode) => catalog.setInclude(name, mode),
    why: (name) => catalog.why(name),
    inspect: () => catalog.inspect(),
  };
}

/** Whatever it calls itself: a program around Tenon is no server of the user's. */
function asExtra(source: ToolSource): ToolSource {
  return {
    name: source.name,
    origin: "extra",
    tools: source.tools,
    call: (call) => source.call(call),
    ...defined({
      state: source.state,
      callsAtOnce: source.callsAtOnce,
      about: source.about ? () => source.about?.() ?? {} : undefined,
      leftOut: source.leftOut ? () => source.leftOut?.() ?? [] : undefined,
    }),
  };
}

/** What `/permissions` may read and change. */
export interface PermissionControls {
  /** Never rejects. */
  decisions(): Promise<{ readonly session: readonly OfferedGrant[]; readonly kept: readonly KeptDecision[] }>;
  /** Rejects when it cannot be taken back. */
  revoke(decision: KeptDecision | OfferedGrant): Promise<void>;
  /** Grants every tool a server has now in this project; the names of those granted. Undefined: no such server. */
  grantServer(name: string): Promise<readonly string[] | undefined>;
}
