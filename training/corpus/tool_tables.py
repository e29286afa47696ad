"""Tools of everyday life: what they may be called, what they take, and how people ask for them."""

# ruff: noqa: E501 - a row of the table is a line

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from training.corpus.phrasing import Phrasing, Wordings
from training.corpus.tables.families import FAMILIES as MORE_FAMILIES
from training.corpus.tables.requests import REQUESTS
from training.corpus.wording.grammar import Grammar
from training.corpus.words import any_city, any_name, any_sentence, any_thing, any_word

Value = str | int
FREE_RATE = 0.55


def _clock(rng: Random) -> str:
    return f"{rng.randint(0, 23):02d}:{rng.choice((0, 5, 10, 15, 20, 30, 40, 45, 50)):02d}"


def _one_of(*choices: str) -> Callable[[Random], Value]:
    return lambda rng: rng.choice(choices)


def _number(low: int, high: int) -> Callable[[Random], Value]:
    return lambda rng: rng.randint(low, high)


VALUES: Mapping[str, Callable[[Random], Value]] = {
    "city": any_city,
    "name": any_name,
    "thing": any_thing,
    "word": any_word,
    "text": any_sentence,
    "clock": _clock,
    "day": _one_of("today", "tomorrow", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "minutes": _number(1, 90),
    "count": _number(2, 20),
    "level": _number(0, 100),
    "degrees": _number(10, 30),
    "amount": _number(1, 999),
    "code": lambda rng: f"{rng.choice('ABCDEFGHJKLMNPRSTVWX')}{rng.randint(10, 9999)}",
    "room": _one_of("kitchen", "bedroom", "bathroom", "garage", "office", "hall", "garden", "attic"),
    "language": _one_of("French", "German", "Spanish", "Italian", "Japanese", "Polish", "Dutch", "Greek"),
    "currency": _one_of("euro", "dollar", "yen", "pound", "franc", "peso"),
    "colour": _one_of("red", "green", "blue", "yellow", "white", "purple"),
    "file": lambda rng: f"{any_word(rng)}.{rng.choice(('txt', 'pdf', 'csv', 'png'))}",
    "email": lambda rng: f"{any_name(rng).lower()}@{any_word(rng)}.com",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument: the names it may have in a schema, and the kind of its value."""

    names: Sequence[str]
    value: str

    @property
    def type(self) -> str:
        return "integer" if self.value in ("minutes", "count", "level", "degrees", "amount") else "string"


@dataclass(frozen=True, slots=True)
class ToolFamily:
    """Tools that do the same: {0}, {1} in the requests stand for the parameters in order."""

    names: Sequence[str]
    description: str
    parameters: Sequence[Parameter]
    requests: Wordings
    free: Grammar | None = None

    def request(self, phrasing: Phrasing) -> str:
        """A request with its places for values; a free one as often as one of the fixed ones."""
        if self.free is not None and (not self.requests.trained or phrasing.rng.random() < FREE_RATE):
            return self.free.say(phrasing.rng, phrasing.held_out)
        return phrasing.template(self.requests)


def _parameters(text: str) -> tuple[Parameter, ...]:
    """Read `name|name:value kind`, separated by commas."""
    parsed = []
    for parameter in text.split(","):
        spelled, _, value = parameter.strip().partition(":")
        parsed.append(Parameter(tuple(spelled.split("|")), value))
    return tuple(parsed)


def _family(names: str, description: str, parameters: str, requests: str) -> ToolFamily:
    """A family whose requests are as Wordings reads them."""
    return ToolFamily(tuple(names.split()), description, _parameters(parameters), Wordings.read(requests))


_FIXED = (
    _family(
        "get_weather weather current_weather weather_lookup get_forecast",
        "Get the weather for a city.",
        "city|location|place|town:city",
        "What is the weather in {0}?|How is the weather in {0}?|Is it raining in {0}?|Tell me the weather in {0}.|What is the weather like in {0}?|Will I need an umbrella in {0}?|Is it cold in {0}?|Check the weather for {0}.|Does it snow in {0}?|What about the weather in {0}?|Is it sunny in {0}?|How hot is it in {0}?|What's the weather like in {0} now?|Give me the current weather for {0}.|How cold is {0} today?|Is it warm in {0} right now?|What is the temperature in {0}? || How warm is it in {0}?|Give me the weather in {0}.",
    ),
    _family(
        "get_forecast forecast weather_forecast",
        "Get the forecast of a day.",
        "city|location|place:city,day|date|when:day",
        "What will the weather be in {0} on {1}?|Give me the forecast for {0} on {1}.|How will the weather be in {0} {1}?|Weather for {0} on {1}, please.|Will it rain in {0} on {1}?|I want the forecast for {0}, {1}.|What is the forecast in {0} for {1}?|How warm will it be in {0} on {1}?|Show the forecast of {1} for {0}.|Is {1} sunny in {0}? || Tell me the forecast for {0} {1}.",
    ),
    _family(
        "set_timer start_timer timer create_timer",
        "Start a timer.",
        "minutes|duration|time:minutes",
        "Set a timer for {0} minutes.|Start a {0} minute timer.|Timer for {0} minutes, please.|Wake me in {0} minutes.|Tell me when {0} minutes are over.|Please start a timer for {0} minutes.|Set the timer to {0} minutes.|Give me {0} minutes.|I need a timer of {0} minutes.|Let the timer run for {0} minutes.|{0} minutes, please start now.|Ring after {0} minutes.|Begin a countdown of {0} minutes. || Count down {0} minutes.",
    ),
    _family(
        "set_alarm create_alarm alarm add_alarm",
        "Set an alarm.",
        "time|at|when:clock",
        "Set an alarm for {0}.|Wake me up at {0}.|Alarm at {0}, please.|I want to get up at {0}.|Please set the alarm to {0}.|Ring at {0}.|Set my alarm to {0}.|I have to get up at {0}.|Please wake me at {0}.|Make an alarm at {0}.|The alarm should ring at {0}.|Get me up at {0}.|Put the alarm on {0}. || I need an alarm at {0}.",
    ),
    _family(
        "send_email email write_email mail",
        "Send an email.",
        "to|recipient|address:email,subject|title|about:text",
        "Send an email to {0} about {1}.|Write to {0} with the subject {1}.|Email {0} about {1}.|Mail {0} about {1}.|Write an email to {0} about {1}.|I want to mail {0} about {1}.|Send {0} a mail with the title {1}.|An email to {0}, subject {1}.|Compose an email about {1} to {0}.|Mail to {0}: {1} || Please send {0} an email about {1}.",
    ),
    _family(
        "send_message message text send_text",
        "Send a message to someone.",
        "to|recipient|name|person:name,text|message|body|content:text",
        "Send a message to {0}: {1}|Tell {0}: {1}|Write to {0}: {1}|Text {0}: {1}|Message {0} and say {1}|Send {0} this message: {1}|A message for {0}: {1}|Please tell {0} this: {1}|Say to {0}: {1}|Drop {0} a line: {1}|Inform {0}: {1}|Give {0} this message: {1}|Ask {0}: {1} || Let {0} know: {1}",
    ),
    _family(
        "translate translate_text translator",
        "Translate text into a language.",
        "text|phrase|input:text,language|target|to:language",
        "Translate {0} into {1}.|How do you say {0} in {1}?|Put {0} into {1}.|What is {0} in {1}?|Translate {0} to {1}.|Say {0} in {1}.|Please give {0} in {1}.|What does {0} become in {1}?|Please turn {0} into {1}.|The {1} for {0}, please.|Show me {0} in {1}. || I need {0} in {1}.",
    ),
    _family(
        "play_song play_music play music_player",
        "Play music.",
        "song|title|track|name:text",
        "Play {0}.|Play the song {0}.|I want to hear {0}.|Put on {0}.|Please play {0}.|Start the song {0}.|Can you play {0}?|I would love to hear {0}.|Put the song {0} on.|Play me {0}.|Start {0}.|Some music: {0}|Listen to {0}.|I feel like hearing {0}. || Let me hear {0}.",
    ),
    _family(
        "set_light turn_on_light light_on lights",
        "Turn on the light in a room.",
        "room|place|where:room",
        "Turn on the light in the {0}.|Light in the {0}, please.|It is dark in the {0}.|Switch on the {0} light.|Make it bright in the {0}.|Switch the light on in the {0}.|Please light the {0}.|Turn the {0} light on.|I need light in the {0}.|Put on the lights in the {0}.|The {0} needs light.|Let there be light in the {0}. || Lights on in the {0}.",
    ),
    _family(
        "set_colour light_colour set_color",
        "Change the colour of a light.",
        "room|place:room,colour|color:colour",
        "Make the {0} light {1}.|Turn the light in the {0} {1}.|Set the {0} lamp to {1}.|I want {1} light in the {0}.|I would like the {0} light to be {1}.|Set the light in the {0} to {1}.|{1} light in the {0}, please.|Paint the {0} {1} with light.|Switch the {0} light to {1}. || Change the {0} light to {1}.",
    ),
    _family(
        "set_temperature set_heating heat thermostat",
        "Set the temperature of a room.",
        "room|place|zone:room,degrees|temperature|value:degrees",
        "Set the {0} to {1} degrees.|Heat the {0} to {1} degrees.|Make it {1} degrees in the {0}.|I want {1} degrees in the {0}.|Turn the {0} to {1} degrees.|The {0} should have {1} degrees.|Put the {0} at {1} degrees.|Bring the {0} to {1} degrees.|{1} degrees in the {0}, please.|Keep the {0} at {1} degrees.|Cool the {0} to {1} degrees. || Warm the {0} to {1} degrees.",
    ),
    _family(
        "add_reminder remind reminder create_reminder",
        "Remind the user of something.",
        "text|task|what:text,time|at|when:clock",
        "Remind me of {0} at {1}.|At {1}, remind me of {0}.|I must not forget {0} at {1}.|Set a reminder for {0} at {1}.|At {1} I have to do this: {0}|Please remind me at {1} of {0}.|Do not let me forget {0} at {1}.|A reminder at {1}: {0}|Tell me at {1}: {0}|Remember for me at {1}: {0}|Remind me about {0} at {1}. || Remind me at {1}: {0}",
    ),
    _family(
        "search web_search search_web find",
        "Search the web.",
        "query|text|q|term:text",
        "Search for {0}.|Search the web for {0}.|Look up {0}.|Find {0} on the web.|Google {0}.|Please search for {0}.|Can you look up {0}?|Search online for {0}.|I want to know about {0}, search the web.|Find out about {0}.|Do a search for {0}.|Look for {0} online.|See if you find {0} on the web.|Hunt the web for {0}. || What does the web say about {0}?",
    ),
    _family(
        "get_stock_price stock_price stock quote",
        "Get the price of a share.",
        "company|name|symbol|ticker:name",
        "What is the share price of {0}?|How much is {0} stock?|Price of {0} shares?|Tell me the stock price of {0}.|What are {0} shares worth?|How is {0} stock doing?|Show the price of {0} shares.|What does a share of {0} cost?|Give me the stock price of {0}.|How much does {0} stock cost?|Check {0} stock.|What is {0} stock worth?|Look up the stock {0}. || Get the price of {0} stock.",
    ),
    _family(
        "convert_currency currency exchange",
        "Convert money.",
        "amount|value|sum:amount,to|currency|target:currency",
        "Convert {0} into {1}.|How much is {0} in {1}?|Change {0} to {1}.|What are {0} worth in {1}?|Turn {0} into {1}.|Exchange {0} to {1}.|How many {1} are {0}?|I want {0} in {1}.|Please convert {0} to {1}.|Work out {0} in {1}. || Give me {0} in {1}.",
    ),
    _family(
        "book_table reserve_table book_restaurant",
        "Book a table.",
        "people|guests|seats:count,time|at|when:clock",
        "Book a table for {0} at {1}.|We are {0} people and come at {1}.|Reserve a table for {0} people at {1}.|Table for {0} at {1}, please.|Please book a table at {1} for {0}.|A table at {1} for {0} people.|Reserve for {0} guests at {1}.|We want to eat at {1}, {0} people.|Can we have a table for {0} at {1}?|Get us a table at {1} for {0}. || I need a table for {0} at {1}.",
    ),
    _family(
        "book_flight find_flight flight flights",
        "Find a flight.",
        "from|origin|start:city,to|destination|goal:city",
        "Book a flight from {0} to {1}.|I want to fly from {0} to {1}.|Find a flight from {0} to {1}.|Flight from {0} to {1}, please.|Get me from {0} to {1} by plane.|Fly me from {0} to {1}.|Are there flights from {0} to {1}?|Search a flight from {0} to {1}.|I have to fly from {0} to {1}.|Show flights from {0} to {1}.|A plane from {0} to {1}, please.|I want to go from {0} to {1} by air. || I need a flight from {0} to {1}.",
    ),
    _family(
        "order_taxi call_taxi taxi get_taxi",
        "Order a taxi.",
        "to|destination|place|address:city",
        "Order a taxi to {0}.|I need a taxi to {0}.|Taxi to {0}, please.|Call a taxi to {0}.|Get me a taxi to {0}.|Please order a taxi to {0}.|Send a taxi, I go to {0}.|I want to take a taxi to {0}.|Book me a taxi to {0}.|A taxi to {0}.|A cab to {0}, please.|I must get to {0} by taxi.|Bring me to {0} by taxi. || Take me to {0} by taxi.",
    ),
    _family(
        "order_item order buy add_to_cart",
        "Order something from the shop.",
        "item|product|thing:thing,count|quantity|number:count",
        "Order {1} {0}.|Buy {1} {0}.|I want {1} {0}.|Please get me {1} {0}.|Put {1} {0} into the cart.|Please order {1} {0}.|I need {1} {0}.|Get {1} {0}.|Add {1} {0} to the cart.|Could I have {1} {0}?|I will take {1} {0}.|Order me {1} {0}.|Let me have {1} {0}.|We are out of {0}, buy {1}.|I'd like {1} {0}. || I would like {1} {0}.",
    ),
    _family(
        "get_news news headlines latest_news",
        "Get the news about a topic.",
        "topic|subject|about:word",
        "What is the news about {0}?|Give me news about {0}.|Show the headlines about {0}.|What is new about {0}?|Any news on {0}?|Tell me the news about {0}.|What happened with {0}?|Show news on {0}.|Find news about {0}.|Are there news about {0}?|Latest news on {0}?|The news on {0}, please.|I want news about {0}. || News about {0}, please.",
    ),
    _family(
        "define_word define dictionary lookup_word",
        "Look a word up.",
        "word|term|text:word",
        "Define {0}.|What does the word {0} mean?|Look up the word {0}.|What is the meaning of {0}?|Explain the word {0}.|What is {0}, as a word?|Tell me what {0} means.|Find the word {0} in the dictionary.|What does {0} mean?|Give me the meaning of {0}.|Definition of {0}?|How is {0} defined?|I do not know the word {0}. || Give me the definition of {0}.",
    ),
    _family(
        "create_note add_note note save_note",
        "Save a note.",
        "text|content|note|body:text",
        "Note: {0}|Write down: {0}|Save a note: {0}|Take a note: {0}|Please note: {0}|Make a note: {0}|Note this: {0}|Put this in a note: {0}|Keep this note: {0}|Add a note: {0}|A note for later: {0}|Remember this note: {0} || New note: {0}",
    ),
    _family(
        "add_event create_event schedule calendar_add",
        "Add an event to the calendar.",
        "title|name|event:text,day|date|when:day",
        "Add {0} to my calendar on {1}.|Put {0} on {1}.|I have {0} on {1}.|Schedule {0} on {1}.|Put {0} in my calendar on {1}.|On {1} I have {0}.|Make an event {0} on {1}.|Add the event {0} for {1}.|Note {0} for {1} in the calendar.|Enter {0} on {1}.|There is {0} on {1}.|Write {0} into the calendar for {1}. || Plan {0} for {1}.",
    ),
    _family(
        "set_volume volume change_volume",
        "Set the volume.",
        "level|value|volume|percent:level",
        "Set the volume to {0}.|Volume {0}, please.|Turn the sound to {0}.|Make the volume {0}.|Put the volume at {0}.|Set the sound to {0}.|Please set the volume at {0}.|I want the volume at {0}.|Volume to {0}.|Turn the volume to {0}.|Bring the volume to {0}.|Sound at {0}, please. || Change the volume to {0}.",
    ),
    _family(
        "call_person call phone make_call",
        "Call someone.",
        "name|person|contact|to:name",
        "Call {0}.|Phone {0}.|I want to talk to {0}.|Please call {0}.|Ring {0}.|Give {0} a call.|Can you call {0}?|I must speak to {0}.|Get {0} on the phone.|Dial {0}.|Let me talk to {0}.|Start a call with {0}.|Phone up {0}.|I would like a call with {0}.|Make a phone call to {0}. || Make a call to {0}.",
    ),
    _family(
        "get_directions directions route navigate",
        "Find the way.",
        "from|start|origin:city,to|end|destination:city",
        "How do I get from {0} to {1}?|Show the way from {0} to {1}.|Directions from {0} to {1}.|Route from {0} to {1}, please.|Which way is it from {0} to {1}?|What is the best route from {0} to {1}?|Show me how to get from {0} to {1}.|Navigate from {0} to {1}.|I drive from {0} to {1}.|Guide me from {0} to {1}.|Give me the way from {0} to {1}.|Find a route from {0} to {1}.|Find out how I get from {0} to {1}. || Find the way from {0} to {1}.",
    ),
    _family(
        "roll_dice dice throw_dice",
        "Roll dice.",
        "count|number|dice:count",
        "Roll {0} dice.|Throw {0} dice.|Please roll {0} dice.|Roll the dice {0} times.|Can you roll {0} dice?|Let us roll {0} dice.|Throw the dice {0} times.|Please throw {0} dice.|Roll {0} of the dice.|I want to throw {0} dice.|I would like to roll {0} dice. || I want to roll {0} dice.",
    ),
    _family(
        "get_time world_clock local_time time_in",
        "Get the time in a city.",
        "city|location|place|zone:city",
        "What time is it in {0}?|Tell me the time in {0}.|What is the time in {0}?|How late is it in {0}?|Time in {0}?|What's the time in {0}?|How late is it now in {0}?|Which time is it in {0}?|Show the time in {0}.|The time in {0}, please.|Can you tell me the time in {0}?|Local time in {0}? || Give me the time in {0}.",
    ),
    _family(
        "find_recipe recipe get_recipe search_recipes",
        "Find a recipe.",
        "dish|ingredient|food|name:thing",
        "Find a recipe with {0}.|How do I cook {0}?|Give me a recipe for {0}.|What can I make with {0}?|I want to cook {0}.|I want a recipe with {0}.|How can I cook {0}?|Show me a recipe for {0}.|What do I cook with {0}?|Look for a recipe with {0}.|A recipe with {0}, please.|I need a recipe for {0}.|Get me recipes with {0}. || Recipe for {0}, please.",
    ),
    _family(
        "add_task add_todo todo create_task",
        "Put a task on the list.",
        "task|text|title|item:text",
        "Add {0} to my list.|Put {0} on my list.|I still have to do this: {0}|New task: {0}|Add the task {0}.|Please add {0} to the list.|I have to do this: {0}|Put the task {0} on the list.|Another task: {0}|Add this to my tasks: {0}|My next task: {0}|On my list: {0}|I need to do {0}.|Things to do: {0} || To do: {0}",
    ),
    _family(
        "open_file read_file show_file file_open",
        "Open a file.",
        "path|file|name|filename:file",
        "Open {0}.|Open the file {0}.|Show me {0}.|Read {0}.|What is in {0}?|Can you open {0}?|I want to see {0}.|Let me see the file {0}.|Load {0}.|Read the file {0}.|Show the file {0}.|Display {0}.|I would like to read {0}. || Please open {0}.",
    ),
    _family(
        "delete_file remove_file delete",
        "Delete a file.",
        "path|file|name:file",
        "Delete {0}.|Delete the file {0}.|Remove {0}.|Throw {0} away.|Get rid of {0}.|Can you delete {0}?|Please remove {0}.|Remove the file {0}.|I do not need {0} any more.|Erase {0}.|Destroy the file {0}.|Wipe {0}.|Clear {0} away.|Delete my file {0}. || Please delete {0}.",
    ),
    _family(
        "rename_file rename move_file",
        "Rename a file.",
        "old|from|source:file,new|to|target:file",
        "Rename {0} to {1}.|Rename the file {0} to {1}.|Call the file {0} now {1}.|Move {0} to {1}.|Give {0} the name {1}.|Please rename {0} to {1}.|The file {0} should be called {1}.|{0} is now called {1}.|Turn the name {0} into {1}.|Change {0} to {1}.|Rename {0} as {1}. || Change the name of {0} to {1}.",
    ),
    _family(
        "track_parcel track_order order_status track",
        "Find out where an order is.",
        "id|number|code|order:code",
        "Where is my order {0}?|Track {0}.|What is the status of order {0}?|Where is parcel {0}?|Has {0} been sent?|Where is {0}?|Please track {0}.|When does parcel {0} come?|Is order {0} on its way?|Show the status of {0}.|Follow the parcel {0}.|Find my order {0}.|Look where parcel {0} is.|Track order {0}. || Track the parcel {0}.",
    ),
    _family(
        "create_user add_user new_user register",
        "Create an account.",
        "name|user|username:name,email|mail|address:email",
        "Create a user {0} with the email {1}.|Add the user {0}, email {1}.|New account for {0}, {1}.|Register {0} with {1}.|Create an account for {0} with {1}.|Sign up {0} with the email {1}.|Add {0} with {1} as a user.|{0} wants an account, the email is {1}.|Open an account for {0}, {1}.|Make a new user {0} with {1}.|Register the user {0} with the email {1}. || Make an account for {0} with the email {1}.",
    ),
)


def _with_free_requests() -> tuple[ToolFamily, ...]:
    """The families with the free requests of the table, and those that it defines."""
    families = {family.names[0]: family for family in _FIXED}
    for block in f"{REQUESTS.strip()}\n{MORE_FAMILIES.strip()}".removeprefix("= ").split("\n= "):
        head, _, lines = block.partition("\n")
        names, *rest = (part.strip() for part in head.split("; "))
        first = names.split()[0]
        if rest:
            description, parameters = rest
            families[first] = ToolFamily(tuple(names.split()), description, _parameters(parameters), Wordings((), ()))
        families[first] = replace(families[first], free=Grammar.read(lines))
    return tuple(families.values())


FAMILIES = _with_free_requests()


def everyday_request(phrasing: Phrasing) -> str:
    """A request that cannot be met without a tool."""
    rng = phrasing.rng
    family = rng.choice([family for family in FAMILIES if "note" not in family.names])
    values = [VALUES[parameter.value](rng) for parameter in family.parameters]
    return family.request(phrasing).format(*values)
