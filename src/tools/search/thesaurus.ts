// Words that name the same thing in prompts and in descriptions of tools: people say film, the tool says movie.
import { termOf } from "./terms.js";

/**
 * Everyday English in groups, from general knowledge: nothing here was taken from a set of tools. A related word counts
 * far less than the one that was said, so that a group may be loose.
 */
const GROUPS = `
search find lookup query discover locate seek
list enumerate browse index
fetch retrieve obtain read load download
create add insert new generate compose
delete remove erase destroy drop clear purge
update edit modify change alter adjust
send deliver dispatch submit
upload import attach
export save backup
convert transform conversion
compute calculate calculation calculator
compare comparison versus difference diff
verify validate check confirm
recommend recommendation suggest suggestion advice
summarize summary abstract digest brief
analyze analysis analytics insight
monitor track watch observe
extract parse scrape crawl
start launch run execute begin
stop terminate kill halt end
cancel revoke undo
approve accept reject
merge combine join concatenate
split divide separate
sort order rank
filter select
copy clone duplicate
rename move
open close
install setup configure configuration setting
deploy release publish
schedule calendar appointment agenda
meeting conference call event
reminder alarm alert notification notify
task todo chore
note memo
plan planner itinerary
book reserve reservation booking
buy purchase order shop shopping store
sell seller sale
pay payment transaction checkout
refund return
transfer wire
invoice bill receipt
price cost rate fee fare
cheap affordable budget
discount coupon deal offer promotion
product item merchandise goods
shipping delivery parcel package shipment sender
stock share equity ticker
market exchange trading trade
crypto cryptocurrency bitcoin ethereum blockchain token coin
currency forex money
finance financial bank banking
invest investment portfolio fund
loan mortgage credit debt
tax taxation
insurance policy
salary wage income
image picture photo photograph
video clip footage
movie film cinema
tv television series show
song music track tune
lyrics verse
artist musician singer band
album discography
audio sound voice speech
podcast episode radio
transcribe transcript transcription subtitle caption
draw drawing sketch paint illustration
diagram chart graph plot visualization visualize
design layout style template
color colour
font typeface
logo icon
weather forecast temperature climate rain snow humidity
wind storm hurricane
air pollution quality
earthquake disaster
news headline article journalism
location place address
map route direction navigation
near nearby nearest close around
distance far
coordinate latitude longitude geolocation gps
country nation
city town
zip postal postcode
travel trip vacation holiday tour journey
flight airline plane aviation airport
hotel accommodation lodging stay
car vehicle automobile
train railway rail
bus transit transport commute
restaurant dining eatery cafe
food eat meal dish cuisine
recipe cook cooking ingredient
drink cocktail beverage wine beer
diet nutrition calorie nutrient
health medical medicine healthcare
doctor physician hospital clinic
disease illness symptom diagnosis
drug medication prescription pharmacy
exercise workout fitness gym training
sleep rest
mental therapy meditation mindfulness
house home property estate apartment housing
rent rental lease
furniture decor interior
garden plant flower
animal pet dog cat
job career employment vacancy hiring recruit
resume cv
interview candidate
company business organization firm enterprise corporation
employee staff worker personnel
customer client buyer
supplier vendor
project milestone
team group
user account profile
member membership
person people individual
contact phone telephone number
friend follower
email mail inbox
message chat text sms
comment reply
post tweet status
social facebook twitter instagram
influencer creator
advertisement ad advertising marketing campaign
seo keyword backlink
trend trending popular top
review rating feedback opinion
sentiment emotion mood
survey poll questionnaire
document file pdf
folder directory
spreadsheet excel sheet
presentation slide slideshow
paper research study academic scholarly publication journal
citation reference bibliography
patent invention
book novel literature
author writer
quote quotation saying
poem poetry
story tale narrative
write writing essay content
grammar spelling proofread
dictionary definition meaning synonym
translate translation language
learn learning education course tutorial lesson
student school university college
teacher instructor tutor
quiz trivia question exam test
homework assignment
math mathematics equation algebra
number digit integer
statistics stats metric
probability odds
random shuffle
physics chemistry biology science
space astronomy planet nasa star
history historical
religion bible prayer
astrology horoscope zodiac
tarot fortune
joke humor funny
game gaming play
puzzle riddle
sport match league tournament
soccer football
player athlete
score result outcome
gift present
clothing fashion outfit clothes wear
beauty makeup cosmetics
kid child children baby
wedding marriage
age birthday birth
name title
date day time
timezone clock
law legal lawyer attorney court
contract agreement
government politics election
police crime
code coding program programming software developer
function method
repository repo git github
bug issue ticket defect error
commit change revision
branch fork
pull merge review
test testing
database sql table
row record entry
column field
schema structure
server host machine
container docker kubernetes
cloud aws azure
log trace
network internet connection
website site web page webpage
url link
domain whois dns
browser chrome tab
api endpoint
key secret token
password credential login authentication
security vulnerability threat
encrypt decrypt encryption cipher
hash checksum digest
compress zip archive
random uuid identifier
qr barcode
size dimension resolution
speed velocity
weight mass
energy power electricity
`;

let related: ReadonlyMap<string, readonly string[]> | undefined;

/** Terms that may stand for this one. */
export function relatedTerms(term: string): readonly string[] {
  related ??= readGroups();
  return related.get(term) ?? [];
}

function readGroups(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const line of GROUPS.trim().split("\n")) {
    const terms = line.split(" ").flatMap((word) => termOf(word) ?? []);
    for (const term of terms) {
      const others = found.get(term) ?? new Set();
      for (const other of terms) if (other !== term) others.add(other);
      found.set(term, others);
    }
  }
  return new Map([...found].map(([term, others]) => [term, [...others]]));
}
