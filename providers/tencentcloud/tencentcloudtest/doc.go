// Package tencentcloudtest is a DNSPod on loopback for tests: the actions of
// the vendor's API 3.0 (dnspod, version 2021-03-23) that sidestep and the
// conformance tests use, strict about parameters and about the signature, with
// errors inside of answers of status 200 as the vendor has them.
//
// It is a double of our making: its rules are those of the vendor's reference
// (the pages of the actions, "Error Codes", "Signature Method v3"), and no
// account was used to compare them. In doubt are: whether an equal record is
// refused while the other one is paused (here it is); whether a CNAME is refused
// beside other records (here it is not); in which order records are listed
// (here by name); what becomes of bytes in a TXT that are no printable ASCII
// (here they are kept escaped); how long a remark may be (here 200 characters);
// the names of the lines of the international edition; whether the API knows an
// IDN by its A-labels (Options.Unicode says that it does not).
//
// The adapter beside it is the user. What goes wrong is armed at Fake.Server.
package tencentcloudtest
