"""Tools of everyday life: what they may be called, what they take, and how people ask for them."""

# ruff: noqa: E501 - a row of the table is a line

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from training.corpus.phrasing import Phrasing
from training.corpus.words import any_city, any_name, any_sentence, any_thing, any_word

Value = str | int


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
    "day": _one_of(
        "today", "tomorrow", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
    ),
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
    requests: Sequence[str]


def _family(names: str, description: str, parameters: str, requests: str) -> ToolFamily:
    """Parameters are `name|name:value kind`, separated by commas; requests are separated by bars."""
    parsed = []
    for parameter in parameters.split(","):
        spelled, _, value = parameter.strip().partition(":")
        parsed.append(Parameter(tuple(spelled.split("|")), value))
    return ToolFamily(tuple(names.split()), description, tuple(parsed), tuple(requests.split("|")))


FAMILIES = (
    _family(
        "get_weather weather current_weather weather_lookup get_forecast",
        "Get the weather for a city.",
        "city|location|place|town:city",
        "What is the weather in {0}?|How is the weather in {0}?|Is it raining in {0}?|Tell me the weather in {0}.|What is the weather like in {0}?|Will I need an umbrella in {0}?|Is it cold in {0}?|Check the weather for {0}.|How warm is it in {0}?|Give me the weather in {0}.",
    ),
    _family(
        "get_forecast forecast weather_forecast",
        "Get the forecast of a day.",
        "city|location|place:city,day|date|when:day",
        "What will the weather be in {0} on {1}?|Give me the forecast for {0} on {1}.|How will the weather be in {0} {1}?|Weather for {0} on {1}, please.|Tell me the forecast for {0} {1}.",
    ),
    _family(
        "set_timer start_timer timer create_timer",
        "Start a timer.",
        "minutes|duration|time:minutes",
        "Set a timer for {0} minutes.|Start a {0} minute timer.|Timer for {0} minutes, please.|Wake me in {0} minutes.|Tell me when {0} minutes are over.|Please start a timer for {0} minutes.|Count down {0} minutes.",
    ),
    _family(
        "set_alarm create_alarm alarm add_alarm",
        "Set an alarm.",
        "time|at|when:clock",
        "Set an alarm for {0}.|Wake me up at {0}.|Alarm at {0}, please.|I want to get up at {0}.|Please set the alarm to {0}.|Ring at {0}.|I need an alarm at {0}.",
    ),
    _family(
        "send_email email write_email mail",
        "Send an email.",
        "to|recipient|address:email,subject|title|about:text",
        "Send an email to {0} about {1}.|Write to {0} with the subject {1}.|Email {0} about {1}.|Mail {0} about {1}.|Please send {0} an email about {1}.",
    ),
    _family(
        "send_message message text send_text",
        "Send a message to someone.",
        "to|recipient|name|person:name,text|message|body|content:text",
        "Send a message to {0}: {1}|Tell {0}: {1}|Write to {0}: {1}|Text {0}: {1}|Message {0} and say {1}|Let {0} know: {1}",
    ),
    _family(
        "translate translate_text translator",
        "Translate text into a language.",
        "text|phrase|input:text,language|target|to:language",
        "Translate {0} into {1}.|How do you say {0} in {1}?|Put {0} into {1}.|What is {0} in {1}?|I need {0} in {1}.",
    ),
    _family(
        "play_song play_music play music_player",
        "Play music.",
        "song|title|track|name:text",
        "Play {0}.|Play the song {0}.|I want to hear {0}.|Put on {0}.|Please play {0}.|Start the song {0}.|Let me hear {0}.",
    ),
    _family(
        "set_light turn_on_light light_on lights",
        "Turn on the light in a room.",
        "room|place|where:room",
        "Turn on the light in the {0}.|Light in the {0}, please.|It is dark in the {0}.|Switch on the {0} light.|Make it bright in the {0}.|Lights on in the {0}.",
    ),
    _family(
        "set_colour light_colour set_color",
        "Change the colour of a light.",
        "room|place:room,colour|color:colour",
        "Make the {0} light {1}.|Turn the light in the {0} {1}.|Set the {0} lamp to {1}.|I want {1} light in the {0}.|Change the {0} light to {1}.",
    ),
    _family(
        "set_temperature set_heating heat thermostat",
        "Set the temperature of a room.",
        "room|place|zone:room,degrees|temperature|value:degrees",
        "Set the {0} to {1} degrees.|Heat the {0} to {1} degrees.|Make it {1} degrees in the {0}.|I want {1} degrees in the {0}.|Warm the {0} to {1} degrees.",
    ),
    _family(
        "add_reminder remind reminder create_reminder",
        "Remind the user of something.",
        "text|task|what:text,time|at|when:clock",
        "Remind me of {0} at {1}.|At {1}, remind me of {0}.|I must not forget {0} at {1}.|Set a reminder for {0} at {1}.|Remind me at {1}: {0}",
    ),
    _family(
        "search web_search search_web find",
        "Search the web.",
        "query|text|q|term:text",
        "Search for {0}.|Search the web for {0}.|Look up {0}.|Find {0} on the web.|Google {0}.|Please search for {0}.|What does the web say about {0}?",
    ),
    _family(
        "get_stock_price stock_price stock quote",
        "Get the price of a share.",
        "company|name|symbol|ticker:name",
        "What is the share price of {0}?|How much is {0} stock?|Price of {0} shares?|Tell me the stock price of {0}.|What are {0} shares worth?|Get the price of {0} stock.",
    ),
    _family(
        "convert_currency currency exchange",
        "Convert money.",
        "amount|value|sum:amount,to|currency|target:currency",
        "Convert {0} into {1}.|How much is {0} in {1}?|Change {0} to {1}.|What are {0} worth in {1}?|Give me {0} in {1}.",
    ),
    _family(
        "book_table reserve_table book_restaurant",
        "Book a table.",
        "people|guests|seats:count,time|at|when:clock",
        "Book a table for {0} at {1}.|We are {0} people and come at {1}.|Reserve a table for {0} people at {1}.|Table for {0} at {1}, please.|I need a table for {0} at {1}.",
    ),
    _family(
        "book_flight find_flight flight flights",
        "Find a flight.",
        "from|origin|start:city,to|destination|goal:city",
        "Book a flight from {0} to {1}.|I want to fly from {0} to {1}.|Find a flight from {0} to {1}.|Flight from {0} to {1}, please.|Get me from {0} to {1} by plane.|I need a flight from {0} to {1}.",
    ),
    _family(
        "order_taxi call_taxi taxi get_taxi",
        "Order a taxi.",
        "to|destination|place|address:city",
        "Order a taxi to {0}.|I need a taxi to {0}.|Taxi to {0}, please.|Call a taxi to {0}.|Get me a taxi to {0}.|Take me to {0} by taxi.",
    ),
    _family(
        "order_item order buy add_to_cart",
        "Order something from the shop.",
        "item|product|thing:thing,count|quantity|number:count",
        "Order {1} {0}.|Buy {1} {0}.|I want {1} {0}.|Please get me {1} {0}.|Put {1} {0} into the cart.|I would like {1} {0}.",
    ),
    _family(
        "get_news news headlines latest_news",
        "Get the news about a topic.",
        "topic|subject|about:word",
        "What is the news about {0}?|Give me news about {0}.|Show the headlines about {0}.|What is new about {0}?|Any news on {0}?|News about {0}, please.",
    ),
    _family(
        "define_word define dictionary lookup_word",
        "Look a word up.",
        "word|term|text:word",
        "Define {0}.|What does the word {0} mean?|Look up the word {0}.|What is the meaning of {0}?|Explain the word {0}.|Give me the definition of {0}.",
    ),
    _family(
        "create_note add_note note save_note",
        "Save a note.",
        "text|content|note|body:text",
        "Note: {0}|Write down: {0}|Save a note: {0}|Take a note: {0}|Please note: {0}|New note: {0}",
    ),
    _family(
        "add_event create_event schedule calendar_add",
        "Add an event to the calendar.",
        "title|name|event:text,day|date|when:day",
        "Add {0} to my calendar on {1}.|Put {0} on {1}.|I have {0} on {1}.|Schedule {0} on {1}.|Plan {0} for {1}.",
    ),
    _family(
        "set_volume volume change_volume",
        "Set the volume.",
        "level|value|volume|percent:level",
        "Set the volume to {0}.|Volume {0}, please.|Turn the sound to {0}.|Make the volume {0}.|Put the volume at {0}.|Change the volume to {0}.",
    ),
    _family(
        "call_person call phone make_call",
        "Call someone.",
        "name|person|contact|to:name",
        "Call {0}.|Phone {0}.|I want to talk to {0}.|Please call {0}.|Ring {0}.|Give {0} a call.|Make a call to {0}.",
    ),
    _family(
        "get_directions directions route navigate",
        "Find the way.",
        "from|start|origin:city,to|end|destination:city",
        "How do I get from {0} to {1}?|Show the way from {0} to {1}.|Directions from {0} to {1}.|Route from {0} to {1}, please.|Find the way from {0} to {1}.",
    ),
    _family(
        "roll_dice dice throw_dice",
        "Roll dice.",
        "count|number|dice:count",
        "Roll {0} dice.|Throw {0} dice.|Please roll {0} dice.|Roll the dice {0} times.|I want to roll {0} dice.",
    ),
    _family(
        "get_time world_clock local_time time_in",
        "Get the time in a city.",
        "city|location|place|zone:city",
        "What time is it in {0}?|Tell me the time in {0}.|What is the time in {0}?|How late is it in {0}?|Time in {0}?|Give me the time in {0}.",
    ),
    _family(
        "find_recipe recipe get_recipe search_recipes",
        "Find a recipe.",
        "dish|ingredient|food|name:thing",
        "Find a recipe with {0}.|How do I cook {0}?|Give me a recipe for {0}.|What can I make with {0}?|I want to cook {0}.|Recipe for {0}, please.",
    ),
    _family(
        "add_task add_todo todo create_task",
        "Put a task on the list.",
        "task|text|title|item:text",
        "Add {0} to my list.|Put {0} on my list.|I still have to do this: {0}|New task: {0}|Add the task {0}.|To do: {0}",
    ),
    _family(
        "open_file read_file show_file file_open",
        "Open a file.",
        "path|file|name|filename:file",
        "Open {0}.|Open the file {0}.|Show me {0}.|Read {0}.|What is in {0}?|Please open {0}.",
    ),
    _family(
        "delete_file remove_file delete",
        "Delete a file.",
        "path|file|name:file",
        "Delete {0}.|Delete the file {0}.|Remove {0}.|Throw {0} away.|Get rid of {0}.|Please delete {0}.",
    ),
    _family(
        "rename_file rename move_file",
        "Rename a file.",
        "old|from|source:file,new|to|target:file",
        "Rename {0} to {1}.|Rename the file {0} to {1}.|Call the file {0} now {1}.|Move {0} to {1}.|Change the name of {0} to {1}.",
    ),
    _family(
        "track_parcel track_order order_status track",
        "Find out where an order is.",
        "id|number|code|order:code",
        "Where is my order {0}?|Track {0}.|What is the status of order {0}?|Where is parcel {0}?|Has {0} been sent?|Track the parcel {0}.",
    ),
    _family(
        "create_user add_user new_user register",
        "Create an account.",
        "name|user|username:name,email|mail|address:email",
        "Create a user {0} with the email {1}.|Add the user {0}, email {1}.|New account for {0}, {1}.|Register {0} with {1}.|Make an account for {0} with the email {1}.",
    ),
)


def everyday_request(phrasing: Phrasing) -> str:
    """A request that cannot be met without a tool."""
    rng = phrasing.rng
    family = rng.choice([family for family in FAMILIES if "note" not in family.names])
    values = [VALUES[parameter.value](rng) for parameter in family.parameters]
    return phrasing.template(family.requests).format(*values)
