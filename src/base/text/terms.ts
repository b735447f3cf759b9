// Text analysis for tool search and the offline model: words, stop words, English stems and synonyms.
import { stemmer } from "stemmer";

const FUNCTION_WORDS = wordSet(`
a about above after again against all also am an and another any anybody anyone anything are arent around as at away be
because been before being below between both but by can cannot cant could couldnt d did didnt do does doesnt doing dont
down during each either else etc even ever every everyone everything few for from further had hadnt has hasnt have havent
having he her here hers herself him himself his how however i id if ill im in instead into is isnt it its itself ive just
ll m many may me might mine more most much must mustnt my myself neither no nobody none nor not nothing now of off often on
once one only onto or other others ought our ours ourselves out over own per perhaps quite rather re s same shall she
should shouldnt since so some somebody someone something somewhere such t than that thats the their theirs them themselves
then there theres these they theyre this those though through thus to too toward towards under until up upon us ve very via
was wasnt we were werent weve what whatever whats when whenever where whereas wherever whether which while who whoever whom
whose why will with within without wont would wouldnt yes yet you youd youll your youre yours yourself yourselves youve`);

/** Words that people wrap a request in when they chat. */
const CHAT_WORDS = wordSet(`
able actually additionally almost already always amazing appreciate ask asked asking assist assistance awesome back based
basically believe best better bit came certain come coming cool could curious currently dear different excited finally
first firstly furthermore gave get gets getting give given gives giving go goes going gonna good got great guess hello help
helped helping helpful helps hey hi hope include included includes including interested keep kind kindly know lastly let
lets like liked little look looking lot lots love make makes making maybe moreover need needed needing needs next nice ok
okay perfect plan planning please possible possibly provide provided provides providing put really recently regarding
related right said say second secondly several should show showing shows sort specific specifically still suppose sure take
taken taking tell telling thank thanks thing things think today tried try trying use used useful uses using various
wanna want wanted wanting wants way ways well wish wonder wondering`);

/**
 * Everyday English synonyms, from general knowledge: nothing here was taken from a set of tools. A synonym counts far less
 * than the word that was said, so a group may be loose.
 */
const SYNONYM_GROUPS = `
search find lookup query discover locate seek; list enumerate browse index; fetch retrieve obtain read load download;
create add insert new generate compose; delete remove erase destroy drop clear purge;
update edit modify change alter adjust; send deliver dispatch submit; upload import attach; export save backup;
convert transform conversion; compute calculate calculation calculator; compare comparison versus difference diff;
verify validate check confirm; recommend recommendation suggest suggestion advice;
summarize summary abstract digest brief; analyze analysis analytics insight; monitor track watch observe;
extract parse scrape crawl; start launch run execute begin; stop terminate kill halt end; cancel revoke undo;
approve accept reject; merge combine join concatenate; split divide separate; sort order rank; filter select;
copy clone duplicate; rename move; open close; install setup configure configuration setting; deploy release publish;
schedule calendar appointment agenda; meeting conference call event; reminder alarm alert notification notify;
task todo chore; note memo; plan planner itinerary; book reserve reservation booking;
buy purchase order shop shopping store; sell seller sale; pay payment transaction checkout; refund return;
transfer wire; invoice bill receipt; price cost rate fee fare; cheap affordable budget;
discount coupon deal offer promotion; product item merchandise goods;
shipping delivery parcel package shipment sender; stock share equity ticker; market exchange trading trade;
crypto cryptocurrency bitcoin ethereum blockchain token coin; currency forex money; finance financial bank banking;
invest investment portfolio fund; loan mortgage credit debt; tax taxation; insurance policy; salary wage income;
image picture photo photograph; video clip footage; movie film cinema; tv television series show;
song music track tune; lyrics verse; artist musician singer band; album discography; audio sound voice speech;
podcast episode radio; transcribe transcript transcription subtitle caption; draw drawing sketch paint illustration;
diagram chart graph plot visualization visualize; design layout style template; color colour; font typeface;
logo icon; weather forecast temperature climate rain snow humidity; wind storm hurricane; air pollution quality;
earthquake disaster; news headline article journalism; location place address; map route direction navigation;
near nearby nearest close around; distance far; coordinate latitude longitude geolocation gps; country nation;
city town; zip postal postcode; travel trip vacation holiday tour journey; flight airline plane aviation airport;
hotel accommodation lodging stay; car vehicle automobile; train railway rail; bus transit transport commute;
restaurant dining eatery cafe; food eat meal dish cuisine; recipe cook cooking ingredient;
drink cocktail beverage wine beer; diet nutrition calorie nutrient; health medical medicine healthcare;
doctor physician hospital clinic; disease illness symptom diagnosis; drug medication prescription pharmacy;
exercise workout fitness gym training; sleep rest; mental therapy meditation mindfulness;
house home property estate apartment housing; rent rental lease; furniture decor interior; garden plant flower;
animal pet dog cat; job career employment vacancy hiring recruit; resume cv; interview candidate;
company business organization firm enterprise corporation; employee staff worker personnel; customer client buyer;
supplier vendor; project milestone; team group; user account profile; member membership; person people individual;
contact phone telephone number; friend follower; email mail inbox; message chat text sms; comment reply;
post tweet status; social facebook twitter instagram; influencer creator;
advertisement ad advertising marketing campaign; seo keyword backlink; trend trending popular top;
review rating feedback opinion; sentiment emotion mood; survey poll questionnaire; document file pdf;
folder directory; spreadsheet excel sheet; presentation slide slideshow;
paper research study academic scholarly publication journal; citation reference bibliography; patent invention;
book novel literature; author writer; quote quotation saying; poem poetry; story tale narrative;
write writing essay content; grammar spelling proofread; dictionary definition meaning synonym;
translate translation language; learn learning education course tutorial lesson; student school university college;
teacher instructor tutor; quiz trivia question exam test; homework assignment; math mathematics equation algebra;
number digit integer; statistics stats metric; probability odds; random shuffle; physics chemistry biology science;
space astronomy planet nasa star; history historical; religion bible prayer; astrology horoscope zodiac;
tarot fortune; joke humor funny; game gaming play; puzzle riddle; sport match league tournament; soccer football;
player athlete; score result outcome; gift present; clothing fashion outfit clothes wear; beauty makeup cosmetics;
kid child children baby; wedding marriage; age birthday birth; name title; date day time; timezone clock;
law legal lawyer attorney court; contract agreement; government politics election; police crime;
code coding program programming software developer; function method; repository repo git github;
bug issue ticket defect error; commit change revision; branch fork; pull merge review; test testing;
database sql table; row record entry; column field; schema structure; server host machine;
container docker kubernetes; cloud aws azure; log trace; network internet connection; website site web page webpage;
url link; domain whois dns; browser chrome tab; api endpoint; key secret token;
password credential login authentication; security vulnerability threat; encrypt decrypt encryption cipher;
hash checksum digest; compress zip archive; random uuid identifier; qr barcode; size dimension resolution;
speed velocity; weight mass; energy power electricity`;

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/u));
}

const ASCII = /^[\x20-\x7e\s]*$/u;
const APOSTROPHE = /(?<=\p{L})['’](?=\p{L})/gu;
/** Accents of Latin, Greek and Cyrillic letters: people leave them out. */
const ACCENTS = /[\u0300-\u036f]/gu;
const RUN = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts that are written without gaps between words. */
const GAPLESS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
/** `getHTTPStatus2` is get, HTTP, Status, 2; `listURLs` is list, URLs. */
const PART = /\p{Lu}{2,}s(?![\p{Ll}\p{Lu}])|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}]+|\p{N}+/gu;
const LOWER = /^[a-z]+$/u;
const LETTERS = /^[a-z]{3,}$/u;
const ONE_LETTER = /^[a-z]$/u;

/** Longer runs are keys, hashes and encoded data. */
const MAX_RUN_CHARS = 64;
/** Enough for the words of 10,000 tools; then the memory of stems starts anew. */
const MAX_REMEMBERED = 16_384;

/** At most this much of a text is looked at, and at most so many words of it. */
export interface TextBounds {
  readonly maxChars: number;
  readonly maxWords: number;
}

/** Lower-case words in order, stop words included. */
export function wordsOf(text: string, { maxChars, maxWords }: TextBounds): string[] {
  const words: string[] = [];
  for (const [run] of plain(text.slice(0, maxChars)).matchAll(RUN)) {
    if (words.length >= maxWords) break;
    if (LOWER.test(run)) {
      if (run.length <= MAX_RUN_CHARS) words.push(run);
    } else addRun(run, words);
  }
  if (words.length > maxWords) words.length = maxWords;
  return words;
}

/** The term a word is found by; undefined for one that says nothing. */
export function termOf(word: string): string | undefined {
  let term = remembered.get(word);
  if (term === undefined) {
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    const isStopWord = FUNCTION_WORDS.has(word) || CHAT_WORDS.has(word) || ONE_LETTER.test(word);
    term = isStopWord ? "" : stemOf(word);
    remembered.set(word, term);
  }
  return term === "" ? undefined : term;
}

/** The English stem of a lower-case word. */
export function stemOf(word: string): string {
  return LETTERS.test(word) ? stemmer(word) : word;
}

/** Articles, pronouns, prepositions, auxiliaries: words that are never about a tool. */
export function isFunctionWord(word: string): boolean {
  return FUNCTION_WORDS.has(word);
}

export function termsOf(text: string, bounds: TextBounds): string[] {
  return wordsOf(text, bounds).flatMap((word) => termOf(word) ?? []);
}

/** Stems cost more than all the rest. An empty one stands for a word that says nothing. */
const remembered = new Map<string, string>();

function plain(text: string): string {
  const flat = ASCII.test(text) ? text : text.normalize("NFKD").replace(ACCENTS, "").normalize("NFKC");
  return flat.replace(APOSTROPHE, "");
}

function addRun(run: string, words: string[]): void {
  let end = 0;
  for (const gapless of run.matchAll(GAPLESS)) {
    addParts(run.slice(end, gapless.index), words);
    addPairs(gapless[0], words);
    end = gapless.index + gapless[0].length;
  }
  addParts(end === 0 ? run : run.slice(end), words);
}

function addParts(run: string, words: string[]): void {
  if (run.length > MAX_RUN_CHARS) return;
  const parts = run.match(PART) ?? [];
  for (const part of parts) words.push(part.toLowerCase());
  // `GitHub`, `YouTube`: others write them as one word.
  const [first, second] = parts;
  if (parts.length === 2 && first && second && isCapital(first) && isCapital(second)) {
    words.push(`${first}${second}`.toLowerCase());
  }
}

function isCapital(part: string): boolean {
  return /^\p{Lu}/u.test(part);
}

function addPairs(run: string, words: string[]): void {
  const characters = Array.from(run);
  if (characters.length === 1) words.push(run);
  for (const [index, character] of characters.entries()) {
    const next = characters[index + 1];
    if (next !== undefined) words.push(`${character}${next}`);
  }
}

let synonyms: ReadonlyMap<string, readonly string[]> | undefined;

/** Terms of words that may stand for the word of this term. */
export function relatedTerms(term: string): readonly string[] {
  synonyms ??= readGroups();
  return synonyms.get(term) ?? [];
}

function readGroups(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const group of SYNONYM_GROUPS.split(";")) {
    const terms = group
      .trim()
      .split(/\s+/u)
      .flatMap((word) => termOf(word) ?? []);
    for (const term of terms) {
      const others = found.get(term) ?? new Set();
      for (const other of terms) if (other !== term) others.add(other);
      found.set(term, others);
    }
  }
  return new Map([...found].map(([term, others]) => [term, [...others]]));
}
